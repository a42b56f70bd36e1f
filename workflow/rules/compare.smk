# The arms of every task against its first arm, paired over seeds.
COMPARED = [run for task in ARMED for run in RUNS_OF[task]]


rule compare:
    input:
        code=sources("headroom.stages.arms"),
        evaluation=tables("evaluation", COMPARED),
        curves=tables("pruning_epochs", COMPARED),
        scores=tables("scores", COMPARED),
        diversity=tables("diversity", COMPARED),
        training=tables("training", COMPARED),
    output:
        f"{RESULTS}/arms.csv",
    log:
        f"{LOGS}/compare.log",
    benchmark:
        f"{BENCHMARKS}/compare.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=15,
    params:
        study=study.study,
        mains=mains_of(ARMED),
        arms=" ".join(f"--arms {task} {' '.join(study.tasks[task].arms)}" for task in ARMED),
    shell:
        "python -m headroom arms --study {params.study} {params.arms} {params.mains} --evaluation {input.evaluation} "
        "--curves {input.curves} --scores {input.scores} --diversity {input.diversity} --training {input.training} "
        "--output {output} > {log} 2>&1"
