# Parameters of heads, of their sites and of the model.
rule parameters:
    input:
        unpack(model_files("parameters")),
    output:
        f"{RESULTS}/parameters/{{run}}.csv",
    log:
        f"{LOGS}/parameters/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/parameters/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=30,
    params:
        model=model,
        columns=columns("parameters"),
    shell:
        "python -m headroom parameters {params.model} --output {output} > {log} 2>&1"
