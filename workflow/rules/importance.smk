# Which heads matter, and what they do: every head on its own, one head alone, scores, where heads point.


use rule sweep as ablation with:
    input:
        **TRAINED,
        shards=jobs.shards("ablation/{run}.{replacement}"),
    output:
        output="<study>/ablation/{run}.{replacement}.csv",
        halves="<study>/ablation_halves/{run}.{replacement}.csv",
    pathvars:
        job="ablation/{run}.{replacement}",
    priority: 20
    params:
        **jobs.params("ablation", curves.tell_ablation, loads=True),


use rule ablation as ablation_shard with:
    output:
        output="<shards>/ablation/{run}.{replacement}.{shard}.npz",
    pathvars:
        job="shards/ablation/{run}.{replacement}.{shard}",


use rule sweep as keep_one with:
    input:
        **TRAINED,
        shards=jobs.shards("keep_one/{run}.{replacement}"),
    output:
        output="<study>/keep_one/{run}.{replacement}.csv",
    pathvars:
        job="keep_one/{run}.{replacement}",
    params:
        **jobs.params("keep_one", curves.tell_keep_one, loads=True),


use rule keep_one as keep_one_shard with:
    output:
        output="<shards>/keep_one/{run}.{replacement}.{shard}.npz",
    pathvars:
        job="shards/keep_one/{run}.{replacement}.{shard}",


use rule model_job as scores with:
    output:
        output="<study>/scores/{run}.csv",
    pathvars:
        job="scores/{run}",
    params:
        **jobs.params("scores", sections="scores", loads=True, epochs=plan.every, set="choose"),


use rule job as agreement with:
    input:
        unpack(lambda wildcards: targets.rankings(plan, wildcards.run)),
    output:
        output="<study>/agreement/{run}.csv",
    pathvars:
        job="agreement/{run}",
    params:
        **jobs.params("agreement", curves.tell_main),


use rule model_job as attention_stats with:
    input:
        **TRAINED,
        treebank=jobs.treebank,
    output:
        output="<study>/attention_stats/{run}.csv",
        distances="<study>/distances/{run}.csv",
    pathvars:
        job="attention_stats/{run}",
    params:
        **jobs.params("attention_stats", gates.tell_observation, sections="attention_stats sampling", loads=True),


use rule model_job as attention_stats_pruned with:
    input:
        pruned=ancient("<study>/pruned_models/{run}/{way}"),
        after="<study>/pruned_models/{run}.{way}.csv",
        corpus=jobs.text,
        treebank=jobs.treebank,
    output:
        output="<study>/attention_stats/{run}.{way}.{strength}.csv",
    pathvars:
        job="attention_stats/{run}.{way}.{strength}",
    params:
        **jobs.params(
            "attention_stats",
            gates.tell_observation,
            sections="attention_stats sampling",
            loads=True,
            places=gates.find_pruned,
        ),


use rule model_job as relevance with:
    output:
        output="<study>/relevance/{run}.csv",
    pathvars:
        job="relevance/{run}",
    params:
        **jobs.params("relevance", sections="relevance", loads=True, set="check"),


use rule job as roles with:
    input:
        pointing=jobs.pointing,
    output:
        output="<study>/roles/{run}.csv",
    pathvars:
        job="roles/{run}",
    params:
        **jobs.params("roles", named=False),


use rule roles as roles_pruned with:
    output:
        output="<study>/roles/{run}.{pruned}.csv",
    pathvars:
        job="roles/{run}.{pruned}",


use rule model_job as attention_maps with:
    input:
        **TRAINED,
        treebank=jobs.treebank,
        roles="<study>/roles/{run}.csv",
        pointing="<study>/attention_stats/{run}.csv",
    output:
        output="<study>/attention_maps/{run}.json",
    pathvars:
        job="attention_maps/{run}",
    params:
        **jobs.params("attention_maps", loads=True, set="check"),


use rule model_job as phenomena with:
    input:
        **TRAINED,
        roles="<study>/roles/{run}.csv",
    output:
        output="<study>/phenomena/{run}.csv",
    pathvars:
        job="phenomena/{run}",
    params:
        **jobs.params("phenomena", sections="phenomena sampling", loads=True, set="test"),


use rule model_job as minimal_pairs with:
    input:
        **TRAINED,
        scores="<study>/scores/{run}.csv",
    output:
        output="<study>/minimal_pairs/{run}.csv",
    pathvars:
        job="minimal_pairs/{run}",
    params:
        **jobs.params("minimal_pairs", curves.tell_pairs, loads=True),


use rule model_job as diversity with:
    output:
        output="<study>/diversity/{run}.csv",
        particles="<study>/particles/{run}.csv",
    pathvars:
        job="diversity/{run}",
    params:
        **jobs.params("diversity", sections="diversity", loads=True, epochs=plan.whole, set="check"),
