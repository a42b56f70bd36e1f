# Models: trained with a checkpoint per epoch, or released, and what they reach.


use rule model_job as training with:
    input:
        unpack(jobs.training_text),
        after=jobs.earlier_part,
    output:
        output="<study>/training/{run}.csv",
        checkpoints=directory("<study>/runs/{run}"),
        record="<study>/runs/{run}/record.json",
    pathvars:
        job="training/{run}",
    wildcard_constraints:
        run=any_of(plan.trained),
    priority: 50
    conda:
        lambda wildcards: f"../../envs/{jobs.library(wildcards)}.yaml"
    resources:
        mem_mb=request_memory(4000, processes=study.gpus),
        runtime=24 * 60,
        gpu=GPU * study.gpus,
    params:
        **jobs.params(jobs.training_stage, trainings.tell, places=trainings.find_state, libraries=jobs.library),


use rule training as training_until with:
    output:
        output="<study>/training_so_far/{run}.epoch{end}.csv",
    pathvars:
        job="training_so_far/{run}.epoch{end}",


use rule model_job as released with:
    input:
        outside(trainings.list_released_files),
        corpus=jobs.checked_text,
    output:
        checkpoints=directory("<study>/runs/{run}"),
        record="<study>/runs/{run}/record.json",
    pathvars:
        job="released/{run}",
    wildcard_constraints:
        run=any_of({*plan.runs}.difference(plan.trained)),
    priority: 100
    conda:
        lambda wildcards: f"../../envs/{jobs.library(wildcards)}.yaml"
    resources:
        mem_mb=request_memory(4000),
        runtime=4 * 60,
    params:
        **jobs.params(
            "released",
            trainings.tell_released,
            named=False,
            imports=trainings.find_import,
            places=trainings.find_downloads,
            libraries=jobs.library,
        ),
        **identified(trainings.list_released_files),
        mirror=mirror,


use rule model_job as evaluation with:
    output:
        output="<study>/evaluation/{run}.csv",
    pathvars:
        job="evaluation/{run}",
    params:
        **jobs.params("evaluation", trainings.tell_evaluation, loads=True),
