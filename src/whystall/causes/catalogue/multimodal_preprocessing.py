"""Images and other media are prepared in the API process."""

from __future__ import annotations

from whystall.causes.entry import CauseEntry, Link, LookAlike, Need
from whystall.causes.links import shown_by_contrast
from whystall.model.text import Text

CAUSE = CauseEntry(
    id="multimodal_preprocessing",
    title=Text(
        "Multimodal preprocessing",
        "多模态预处理",
    ),
    what=Text(
        "Before the engine sees a request, the API process decodes, resizes and cuts up its images, "
        "audio or video. That is CPU work of one process: throughput is one over its time an item, "
        "whatever the GPU can do.",
        "在引擎看到请求之前，API 进程要对图像、音频或视频解码、缩放和切块。"
        "这是单个进程的 CPU 工作：吞吐等于每项用时的倒数，与 GPU 无关。",
    ),
    predicts=Text(
        "TTFT far above queue plus prefill, on requests that carry media which the processor cache did not have.",
        "携带媒体且处理器缓存未命中的请求，其 TTFT 远高于排队加预填充。",
    ),
    role="limit",
    bias=-2.5,
    weights={
        "contrast.multimodal": 7.0,  # the same load without it is better: no observation says more
        "front.residual": 3.0,  # the time is lost before the engine
        "mm.computed": 4.0,  # media that had to be prepared are what is done there
        "api.core": 0.5,  # its process may fill its core; worker threads may share the work
        "cpu.throttled": -1.0,  # the quota explains it
    },
    links=(
        Link(
            Text(
                "Time is lost before the engine: {front_residual}",
                "时间损失在引擎之前：{front_residual}",
            ),
            (Need("front.residual"),),
            rejects=Text(
                "the queue and the prefill: both are subtracted",
                "排队与预填充：两者已扣除",
            ),
        ),
        Link(
            Text(
                "Media are prepared there: {mm_computed}",
                "媒体在此处理：{mm_computed}",
            ),
            (Need("mm.computed"),),
            rejects=Text(
                "tokenising and templates: text alone costs milliseconds",
                "分词与模板：纯文本仅需数毫秒",
            ),
        ),
    ),
    other_links=(shown_by_contrast("multimodal"),),
    numbers=(
        Text(
            "{front_residual:span} before the engine, {mm_computed:~2} items a request",
            "进入引擎前耗去 {front_residual:span}，每请求 {mm_computed:~2} 项",
        ),
        Text(
            "{contrast_multimodal:~2} times worse with it than without",
            "使用时比不使用差 {contrast_multimodal:~2} 倍",
        ),
    ),
    first_step=Text(
        "Send media smaller (the model resizes them anyway), raise --mm-processor-cache-gb where the "
        "same ones come again, and raise --api-server-count so that several processes prepare them.",
        "发送更小的媒体（模型总会缩放），"
        "若重复出现则提高 --mm-processor-cache-gb，"
        "并提高 --api-server-count 让多个进程处理。",
    ),
    look_alikes=(
        LookAlike(
            "frontend_cpu",
            Text(
                "no media, or all of them in the cache: 0 items prepared a request",
                "没有媒体或全部命中缓存：每请求处理 0 项",
            ),
        ),
        LookAlike(
            "prefill_bound",
            Text(
                "the lost time is in the prefill phase, not before the queue",
                "损失的时间在预填充阶段，而非排队之前",
            ),
        ),
        LookAlike(
            "network",
            Text(
                "the client gets first tokens later than the server says",
                "客户端收到首 token 晚于服务器所示",
            ),
        ),
    ),
    hurts_as=("front", "contrast"),
    restart=True,
    order=1,
    settled_by=(
        "metrics",
        "host",
    ),
)
