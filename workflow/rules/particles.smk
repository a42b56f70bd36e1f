# Measures of the heads of every site as particles, at every epoch of every run.
rule particles:
    input:
        unpack(model_files("particles", epochs=plan.whole_epochs)),
    output:
        f"{RESULTS}/particles/{{run}}.csv",
    log:
        f"{LOGS}/particles/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/particles/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=60,
        gpu=GPU,
    params:
        models=models,
        columns=columns("particles"),
    shell:
        "python -m headroom particles {params.models} --output {output} > {log} 2>&1"
