# What removal gains: measured alone on the machine.


use rule model_job as timing with:
    input:
        **TRAINED,
        scores="<study>/scores/{run}.csv",
        removable="<study>/removable/{run}.csv",
    output:
        output="<study>/timing/{run}.csv",
        samples="<study>/timing_samples/{run}.csv",
    pathvars:
        job="timing/{run}",
    threads: exclusive
    params:
        **jobs.params("timing", curves.tell_timing, loads=True),
