"""WCAG's contrast ratio of two custom properties of a page, as a function for the browser."""

CONTRAST = """([ink, ground]) => {
  const light = (name) => {
    const probe = document.createElement("i");
    probe.style.color = `var(--${name})`;
    document.body.append(probe);
    const parts = getComputedStyle(probe).color.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
    probe.remove();
    const [r, g, b] = parts.map((c) => (c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4));
    return 0.2126 * r + 0.7152 * g + 0.0722 * b;
  };
  const [a, b] = [light(ink), light(ground)].sort((x, y) => y - x);
  return (a + 0.05) / (b + 0.05);
}"""
