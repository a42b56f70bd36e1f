# Accuracy per phenomenon of the generated language, also without the heads of each relation.
rule phenomena:
    input:
        unpack(model_files("phenomena", "test")),
        cases=f"{RESULTS}/translation/corpus/test.phenomena.csv",
        roles=f"{RESULTS}/roles/{{run}}.csv",
    output:
        f"{RESULTS}/phenomena/{{run}}.csv",
    log:
        f"{LOGS}/phenomena/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/phenomena/{{run}}.tsv"
    wildcard_constraints:
        run=any_of(plan.tested),
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=memory(4000),
        runtime=60,
        gpu=GPU,
    params:
        model=model,
        settings=of_run(job_settings.sections, "phenomena", "sampling"),
        columns=columns("phenomena"),
    shell:
        "python -m headroom phenomena {params.model} --set test --cases {input.cases} --roles {input.roles} "
        "--settings {params.settings:q} --output {output} > {log} 2>&1"
