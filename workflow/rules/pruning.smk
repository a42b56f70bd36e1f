# What can go: curves by every order, criteria compared, gates that learn it, heads sliced out.


use rule sweep as pruning with:
    input:
        unpack(jobs.order_tables),
        **TRAINED,
        scores="<study>/scores/{run}.csv",
        shards=jobs.shards("pruning/{run}.{scope}.{replacement}"),
    output:
        output="<study>/pruning/{run}.{scope}.{replacement}.csv",
        resamples="<study>/pruning/{run}.{scope}.{replacement}.npz",
    pathvars:
        job="pruning/{run}.{scope}.{replacement}",
    priority: 10
    params:
        **jobs.params("pruning", curves.tell_curves, loads=True, epochs=plan.last),


use rule pruning as pruning_shard with:
    output:
        output="<shards>/pruning/{run}.{scope}.{replacement}.{shard}.npz",
    pathvars:
        job="shards/pruning/{run}.{scope}.{replacement}.{shard}",


# the longest of the sweeps
use rule sweep as pruning_epochs with:
    input:
        **TRAINED,
        scores="<study>/scores/{run}.csv",
        shards=jobs.shards("pruning_epochs/{run}"),
    output:
        output="<study>/pruning_epochs/{run}.csv",
        resamples="<study>/pruning_epochs/{run}.npz",
    pathvars:
        job="pruning_epochs/{run}",
    priority: 15
    params:
        **jobs.params("pruning", curves.tell_epochs, loads=True, epochs=jobs.curve_epochs),


use rule pruning_epochs as pruning_epochs_shard with:
    output:
        output="<shards>/pruning_epochs/{run}.{shard}.npz",
    pathvars:
        job="shards/pruning_epochs/{run}.{shard}",


use rule sweep as scores_compared with:
    output:
        output="<study>/scores_compared/{run}.{family}.csv",
        costs="<study>/scores_costs/{run}.{family}.csv",
    pathvars:
        job="scores_compared/{run}.{family}",
    priority: 20
    params:
        **jobs.params("scores", curves.tell_family, loads=True, epochs=plan.last),


use rule sweep as pruning_compared with:
    input:
        unpack(jobs.scores_of),
        **TRAINED,
    output:
        output="<study>/pruning_compared/{run}.{order}.csv",
        resamples="<study>/pruning_compared/{run}.{order}.npz",
    pathvars:
        job="pruning_compared/{run}.{order}",
    priority: 10
    params:
        **jobs.params("pruning", curves.tell_compared, loads=True, epochs=plan.last),


use rule job as bakeoff with:
    input:
        unpack(lambda wildcards: targets.comparison(plan, wildcards.task)),
    output:
        output="<study>/bakeoff/{task}.csv",
    pathvars:
        job="bakeoff/{task}",
    params:
        **jobs.params("bakeoff", lambda plan, task: {"task": task}),


use rule sweep as bakeoff_retraining with:
    input:
        unpack(jobs.scores_of),
        **TRAINED,
    output:
        output="<study>/bakeoff_retraining/{run}.csv",
        resamples="<study>/bakeoff_retraining/{run}.npz",
    pathvars:
        job="bakeoff_retraining/{run}",
    priority: 20
    params:
        **jobs.params("bakeoff_retraining", curves.tell_retraining, loads=True),


use rule sweep as gates with:
    input:
        **TRAINED,
        training=jobs.training_table,
    output:
        models=directory("<study>/pruned_models/{run}/{way}"),
        learned="<study>/gates/{run}.{way}.csv",
        output="<study>/pruned_models/{run}.{way}.csv",
        resamples="<study>/pruned_models/{run}.{way}.npz",
    pathvars:
        job="gates/{run}.{way}",
    wildcard_constraints:
        way=r"hard-concrete\.\w+",
    priority: 20
    params:
        **jobs.params("gates", gates.tell_gates, loads=True),


use rule sweep as gates_controls with:
    input:
        **TRAINED,
        training=jobs.training_table,
        scores="<study>/scores/{run}.csv",
    output:
        models=directory("<study>/pruned_models/{run}/controls.{scope}"),
        output="<study>/pruned_models/{run}.controls.{scope}.csv",
        resamples="<study>/pruned_models/{run}.controls.{scope}.npz",
    pathvars:
        job="gates_controls/{run}.{scope}",
    priority: 20
    params:
        **jobs.params("gates", gates.tell_controls, loads=True),


use rule training as training_from_scratch with:
    input:
        unpack(jobs.training_text),
        pruned=ancient("<study>/pruned_models/{run}/hard-concrete.all"),
        after="<study>/pruned_models/{run}.hard-concrete.all.csv",
    output:
        output="<study>/training_from_scratch/{run}.{start}-{strength}.csv",
        checkpoints=directory("<study>/from_scratch/{run}.{start}-{strength}"),
    pathvars:
        job="training_from_scratch/{run}.{start}-{strength}",
    priority: 20
    params:
        **jobs.params("training", gates.tell_layout, places=gates.find_layout, libraries=jobs.library),


use rule sweep as from_scratch with:
    input:
        **TRAINED,
        pruned=ancient("<study>/from_scratch/{run}.{start}-{strength}"),
        training="<study>/training_from_scratch/{run}.{start}-{strength}.csv",
    output:
        output="<study>/pruned_models/{run}.{start}-{strength}.csv",
        resamples="<study>/pruned_models/{run}.{start}-{strength}.npz",
    pathvars:
        job="from_scratch/{run}.{start}-{strength}",
    priority: 20
    params:
        **jobs.params("from_scratch", gates.tell_trained_layout, loads=True, places=gates.find_other),


use rule model_job as removal with:
    input:
        **TRAINED,
        scores="<study>/scores/{run}.csv",
        ablation="<study>/ablation/{run}.zero.csv",
    output:
        smaller=directory("<study>/smaller/{run}"),
        removable="<study>/removable/{run}.csv",
        output="<study>/removal/{run}.csv",
    pathvars:
        job="removal/{run}",
    params:
        **jobs.params("removal", curves.tell_removal, loads=True),


use rule model_job as parameters with:
    output:
        output="<study>/parameters/{run}.csv",
    pathvars:
        job="parameters/{run}",
    params:
        **jobs.params("parameters", loads=True),
