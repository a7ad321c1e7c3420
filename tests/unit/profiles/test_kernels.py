from pathlib import Path

import pytest

from whystall.errors import UsageError
from whystall.profiles.kernels import TABLE, Classifier, base_name, read_patterns

CLASSES = {
    "void (anonymous namespace)::multimem_all_reduce_kernel<c10::BFloat16, 16>(c10::BFloat16*, unsigned long)": "collective",
    "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)": "collective",
    "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)": "collective",
    "Memcpy HtoD (Pageable -> Device)": "copy",
    "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)": "kv_write",
    "void paged_attention_ll4mi_QKV_mfma16_kernel<__hip_bfloat16, (vllm::Fp8KVCacheDataType)0>(int)": "attention",
    "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int>>>(int)": "attention",
    "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_bf16_64x64>(int)": "gemm",
    "nvjet_sm90_tst_128x136_64x6_1x2_h_bz_TNT": "gemm",
    "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
    "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(int)": "norm",
    "_ZN7ck_tile6kentryILi1ENS_12Rmsnorm2dFwdINS_27Rmsnorm2d": "norm",
    "bmm_Bfloat16_MxE2m1MxE4m3_Fp32_t128x16x256u2": "moe_gemm",
    "void vllm::moe::topkGatingSoftmax<float, 8>(int)": "moe_routing",
    "void vllm::act_and_mul_kernel<c10::BFloat16>(int)": "activation",
    "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(int)": "rope",
    "_gumbel_sample_kernel": "sampling",
    "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>>(int)": "elementwise",
    "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<Copy<long, long> >(int)": "elementwise",
    "mystery": "other",
}


@pytest.mark.parametrize("name", CLASSES)
def test_real_names(name: str) -> None:
    assert Classifier().classify(name) == CLASSES[name]


def test_base_names() -> None:
    assert base_name("void at::native::(anonymous namespace)::f<a<b>, (c > d)>(int, x<y>)") == "at::native::f"
    assert base_name("Memcpy DtoH (Device -> Pinned)") == "Memcpy DtoH (Device -> Pinned)"
    assert base_name("") == ""
    assert base_name("<<<<") == "<<<<"
    assert len(base_name("x" * 10_000_000)) == 4096


def test_ids_are_unique() -> None:
    assert len({row.id for row in TABLE}) == len(TABLE)


def test_a_users_rows_come_first(tmp_path: Path) -> None:
    path = tmp_path / "patterns.toml"
    path.write_text(
        '[[pattern]]\nmatch = "^myst"\nclass = "attention"\n[[pattern]]\nmatch = "nvjet"\nclass = "router"\n'
    )
    classifier = Classifier(read_patterns(path))
    assert classifier.classify("mystery") == "attention"
    assert classifier.classify("nvjet_x") == "router"
    assert (classifier.family("router"), classifier.family("attention")) == ("other", "attention")


@pytest.mark.parametrize(
    "text", ["x = 1", '[[pattern]]\nmatch = "("\nclass = "a"', "[[pattern", "[[pattern]]\nmatch = 5"]
)
def test_a_bad_table_is_a_clear_error(tmp_path: Path, text: str) -> None:
    path = tmp_path / "patterns.toml"
    path.write_text(text)
    with pytest.raises(UsageError, match="not a pattern table"):
        read_patterns(path)
    with pytest.raises(UsageError, match="cannot read"):
        read_patterns(tmp_path / "absent")
