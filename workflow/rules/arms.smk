# Comparison of the arms of every task with its first arm, paired over seeds.
COMPARED = plan.runs_of(*plan.armed)


rule arms:
    input:
        code=code("arms"),
        evaluation=plan.tables("evaluation", COMPARED),
        curves=plan.tables("pruning_epochs", COMPARED),
        scores=plan.tables("scores", COMPARED),
        diversity=plan.tables("diversity", COMPARED),
        training=plan.tables("training", COMPARED),
    output:
        f"{RESULTS}/arms.csv",
    log:
        f"{LOGS}/arms.log",
    benchmark:
        f"{BENCHMARKS}/arms.tsv"
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=15,
    params:
        study=study.study,
        columns=columns("arms"),
        mains=job_settings.mains(),
        arms=" ".join(f"--arms {task} {' '.join(study.tasks[task].arms)}" for task in plan.armed),
    shell:
        "python -m headroom arms --study {params.study} {params.arms} {params.mains} --evaluation {input.evaluation} "
        "--curves {input.curves} --scores {input.scores} --diversity {input.diversity} --training {input.training} "
        "--output {output} > {log} 2>&1"
