# Time of an update in every arm, by interleaved updates.
rule update_cost:
    input:
        vocabulary=plan.vocabulary,
        binarised=plan.binarised,
        code=code("update_cost"),
    output:
        f"{RESULTS}/update_cost.csv",
    log:
        f"{LOGS}/update_cost.log",
    benchmark:
        f"{BENCHMARKS}/update_cost.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: exclusive_threads
    resources:
        mem_mb=memory(4000),
        runtime=60,
        gpu=GPU,
    params:
        study=study.study,
        data=directory_of("binarised"),
        settings=job_settings.update_cost(),
        columns=columns("update_cost"),
        device=study.device,
    shell:
        "python -m headroom update_cost --study {params.study} --data {params.data} --device {params.device} "
        "--settings {params.settings:q} --output {output} > {log} 2>&1"
