# Interleaved timing of full, masked and sliced models, exclusively on the machine.
rule timing:
    input:
        unpack(model_files("timing", "test")),
        scores=f"{RESULTS}/scores/{{run}}.csv",
    output:
        table=f"{RESULTS}/timing/{{run}}.csv",
        samples=f"{RESULTS}/timing_samples/{{run}}.csv",
    log:
        f"{LOGS}/timing/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/timing/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: exclusive_threads
    resources:
        mem_mb=memory(4000),
        runtime=120,
        gpu=GPU,
    params:
        model=model,
        settings=of_run(job_settings.with_main, "timing"),
        columns=columns("timing", "timing_samples"),
    shell:
        "python -m headroom timing {params.model} --scores {input.scores} --set test --settings {params.settings:q} "
        "--output {output.table} --samples {output.samples} > {log} 2>&1"
