# Text, trees, vocabularies and encoders: what there is before a model.


use rule job as text with:
    input:
        outside(texts.list_text_sources),
    output:
        output=directory("<study>/{task}/corpus"),
        record="<study>/{task}/corpus/corpus.json",
    pathvars:
        job="text/{task}",
    conda:
        lambda wildcards: f"../../envs/{jobs.text_library(wildcards)}.yaml"
    resources:
        mem_mb=request_memory(4000),
        runtime=60,
    params:
        **jobs.params("acquire", texts.tell_text, named=False, imports=texts.text_provider, libraries=jobs.text_library),
        **identified(texts.list_text_sources),
        mirror=mirror,


# early, because it fails if a relation is missing
use rule job as treebank with:
    input:
        outside(texts.list_tree_sources),
        after=jobs.own_trees,
    output:
        output="<study>/{task}/treebank.conllu",
    pathvars:
        job="treebank/{task}",
    priority: 100
    params:
        **jobs.params("acquire", texts.tell_trees, named=False, imports=texts.tree_provider, places=texts.own_trees),
        **identified(texts.list_tree_sources),
        mirror=mirror,


use rule model_job as vocabulary with:
    input:
        corpus="<study>/{task}/corpus/corpus.json",
    output:
        output=directory("<study>/{task}/binarised"),
        record="<study>/{task}/binarised/prepared.json",
    pathvars:
        job="vocabulary/{task}",
    conda:
        "../../envs/fairseq.yaml"
    params:
        **jobs.params("vocabulary", texts.tell_vocabulary, named=False, libraries="fairseq"),


# early, because trainings, the longest jobs, wait for it
use rule model_job as encoder with:
    input:
        outside(texts.list_encoder_files),
        corpus="<study>/{task}/corpus/corpus.json",
    output:
        output=directory("<study>/{task}/encoder"),
        record="<study>/{task}/encoder/record.json",
    pathvars:
        job="encoder/{task}",
    priority: 60
    params:
        **jobs.params("encoder", texts.tell_encoder, named=False, libraries="torch"),
        **identified(texts.list_encoder_files),
