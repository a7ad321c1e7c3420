from whystall.service.static_files import files, open_paths


def test_the_page_its_parts_and_the_chart_library_are_there():
    found = files()
    assert found["/"][1] == "text/html"
    assert found["/web/app.js"][1] == "text/javascript"
    assert b"uPlot" in found["/web/uPlot.iife.min.js"][0]
    assert b"Permission is hereby granted" in found["/web/uPlot.LICENSE"][0]


def test_every_file_that_the_page_and_its_modules_ask_for_is_served():
    import re

    page = files()["/"][0].decode()
    asked = {f"/{path}" for path in re.findall(r'(?:src|href)="(web/[^"]+)"', page)}
    for path, (body, kind) in files().items():
        if kind == "text/javascript" and not path.endswith(".min.js"):
            asked |= {f"/web/{name}" for name in re.findall(r'from "\./([^"]+)"', body.decode())}
    assert asked > {"/web/app.js", "/web/words.js"}
    assert asked <= set(files())


def test_only_files_are_open_without_a_token():
    assert "/" in open_paths()
    assert not any(path.startswith("/api") for path in open_paths())
