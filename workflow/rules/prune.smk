# Pruning curves: of detailed runs, every order at the last epoch and the main order at every epoch; of
# the other runs, the main order at the last epoch, which is what arms are compared by.
rule curves:
    input:
        vocabulary=VOCABULARY,
        texts=texts("choose", "test"),
        code=sources("headroom.prune"),
        checkpoint=last_checkpoint("{run}"),
        scores=f"{RESULTS}/scores/{{run}}.csv",
        ablation=f"{RESULTS}/ablation/{{run}}.csv",
    output:
        f"{RESULTS}/curves/{{run}}.{{scope}}.csv",
    log:
        f"{LOGS}/curves/{{run}}.{{scope}}.log",
    benchmark:
        f"{BENCHMARKS}/curves/{{run}}.{{scope}}.tsv"
    priority: 10
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=600,
        gpu=GPU,
    params:
        study=study.study,
        vocabulary=directory_of("vocabulary"),
        corpus=directory_of("texts"),
        settings=" ".join(
            [
                flags(study.pruning, leave_out=["scopes"]),
                flags(study.scores),
                flags(study.decoding),
                flags(study.sampling),
            ]
        ),
        device=study.device,
    shell:
        "python -m headroom.prune --study {params.study} --run {wildcards.run} --checkpoints {input.checkpoint} "
        "--vocabulary {params.vocabulary} --corpus {params.corpus} --device {params.device} --scores {input.scores} "
        "--ablation {input.ablation} --scopes {wildcards.scope} --output {output} {params.settings} > {log} 2>&1"


rule dynamics:
    input:
        vocabulary=VOCABULARY,
        texts=texts("choose", "test"),
        code=sources("headroom.prune"),
        checkpoints=lambda wildcards: (
            checkpoints(wildcards.run) if wildcards.run in DETAILED else last_checkpoint(wildcards.run)
        ),
        scores=f"{RESULTS}/scores/{{run}}.csv",
    output:
        f"{RESULTS}/dynamics/{{run}}.csv",
    log:
        f"{LOGS}/dynamics/{{run}}.log",
    benchmark:
        f"{BENCHMARKS}/dynamics/{{run}}.tsv"
    conda:
        "../../envs/torch.yaml"
    threads: 1
    resources:
        mem_mb=4000,
        runtime=600,
        gpu=GPU,
    params:
        study=study.study,
        vocabulary=directory_of("vocabulary"),
        corpus=directory_of("texts"),
        settings=" ".join(
            [
                flags(study.pruning, leave_out=["scopes", "criteria", "normalisations", "random_draws"]),
                flags(study.decoding),
                flags(study.sampling),
            ]
        ),
        device=study.device,
    shell:
        "python -m headroom.prune --study {params.study} --run {wildcards.run} --checkpoints {input.checkpoints} "
        "--vocabulary {params.vocabulary} --corpus {params.corpus} --device {params.device} --scores {input.scores} "
        "--only-main true --scopes all --output {output} {params.settings} > {log} 2>&1"
