# One model per arm and seed, a checkpoint per epoch. State to resume from lives in work/, which is no
# output: Snakemake deletes the outputs of a failed job, and training would start over.
rule train:
    input:
        vocabulary=VOCABULARY,
        binarised=BINARISED,
        code=sources("headroom.train"),
    output:
        checkpoints=[f"{RESULTS}/runs/{{run}}/epoch{epoch}.pt" for epoch in range(1, translation.epochs + 1)],
        table=f"{RESULTS}/training/{{run}}.csv",
    log:
        f"{LOGS}/train/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/train/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(TRANSLATED),
    priority: 50
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=24 * 60,
        gpu=GPU,
    params:
        study=study.study,
        data=directory_of("binarised"),
        work=f"work/{study.study}/{{run}}",
        directory=subpath(output[0], parent=True),
        arm=of_run(arm_of),
        seed=lambda wildcards: RUNS[wildcards.run].seed,
        model=flags(translation.model),
        training=flags(translation.training),
        device=study.device,
    shell:
        "python -m headroom.train --study {params.study} --run {wildcards.run} --data {params.data} "
        "--work {params.work} --checkpoints {params.directory} --output {output.table} --device {params.device} "
        "--seed {params.seed} {params.arm} {params.model} {params.training} > {log} 2>&1"
