# What repulsion costs per update: interleaved updates of all arms.
rule cost:
    input:
        vocabulary=VOCABULARY,
        binarised=BINARISED,
        code=sources("headroom.stages.update_cost"),
    output:
        f"{RESULTS}/update_cost.csv",
    log:
        f"{LOGS}/cost.log",
    benchmark:
        f"{BENCHMARKS}/cost.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: alone("update_cost", "translation")
    resources:
        mem_mb=memory(4000),
        runtime=60,
        gpu=GPU,
    params:
        study=study.study,
        data=directory_of("binarised"),
        arms=" ".join(arm_words("translation", arm) for arm in translation.arms),
        settings=" ".join(
            [
                flags(translation.model),
                flags(translation.training, leave_out=["epochs"]),
                flags(translation.update_cost),
            ]
        ),
        device=study.device,
    shell:
        "python -m headroom update_cost --study {params.study} --data {params.data} --device {params.device} "
        "{params.arms} {params.settings} --output {output} > {log} 2>&1"
