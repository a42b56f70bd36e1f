# The parents of all rules: what the programs have in common.


rule job:
    log:
        "<log>/<job>.log",
        times="<study>/benchmarks/<job>.tsv",
    pathvars:
        job="job",
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=request_memory(1200),
        runtime=15,
        gpu=0,
    params:
        mirror="",
    shell:
        "python -m headroom --libraries {params.libraries} --benchmark {log.times:q} {params.stage} "
        "{params.job:q} {params.mirror} > {log[0]} 2>&1"


use rule job as model_job with:
    input:
        **TRAINED,
    conda:
        "../../envs/torch.yaml"
    resources:
        mem_mb=request_memory(1200),
        runtime=120,
        gpu=GPU,


use rule model_job as sweep with:
    resources:
        mem_mb=request_memory(2200),
        runtime=600,
        gpu=GPU,
