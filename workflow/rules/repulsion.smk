# What repulsion costs; what it changes is computed from the tables of the runs of its arms.


use rule model_job as update_cost with:
    input:
        data=lambda wildcards: f"<study>/{plan.timed_task}/binarised/prepared.json",
    output:
        output="<study>/update_cost.csv",
    pathvars:
        job="update_cost",
    conda:
        "../../envs/fairseq.yaml"
    threads: exclusive
    params:
        **jobs.params("update_cost", trainings.tell_updates, libraries="fairseq"),
