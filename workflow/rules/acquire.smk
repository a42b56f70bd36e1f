# Text and trees, each in one form whatever it comes from.
if translation:

    rule parallel_text:
        input:
            code=acquiring("parallel", translation.corpus),
            files=own_files(translation.corpus),
        output:
            texts("translation", *SPLITS, *translation.corpus.far_names),
            [f"{RESULTS}/translation/corpus/{name}.conllu" for name in generated_trees(translation.corpus)],
            f"{RESULTS}/translation/corpus/corpus.json",
        log:
            f"{LOGS}/translation/parallel_text.log",
        benchmark:
            f"{BENCHMARKS}/translation/parallel_text.tsv"
        conda:
            of_source(translation.corpus)
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=settings_json(corpus=translation.corpus),
            mirror=mirror_flag,
        shell:
            "python -m headroom acquire --kind parallel --settings {params.settings:q} --output {params.directory} "
            "{params.mirror} > {log} 2>&1"


# A rule's files are fixed: of tasks with other far domains than the first has, each set of domains has a rule of its own.
for number, (far, names) in enumerate(by_far_names().items(), 1):

    rule:
        name:
            "labelled_text" if number == 1 else f"labelled_text_{number}"
        input:
            code=lambda wildcards: acquiring("labelled", classification[wildcards.task].corpus),
            files=lambda wildcards: own_files(classification[wildcards.task].corpus),
        output:
            texts("{task}", *SPLITS, *far),
        log:
            f"{LOGS}/{{task}}/labelled_text.log",
        benchmark:
            f"{BENCHMARKS}/{{task}}/labelled_text.tsv"
        wildcard_constraints:
            task=any_of(names),
        conda:
            lambda wildcards: of_source(classification[wildcards.task].corpus)
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=lambda wildcards: settings_json(corpus=classification[wildcards.task].corpus),
            mirror=mirror_flag,
        shell:
            "python -m headroom acquire --kind labelled --settings {params.settings:q} --output {params.directory} "
            "{params.mirror} > {log} 2>&1"


# Dependency trees in the language that a task's encoder reads. They come first: a relation that they lack is an error
# before anything is trained.
rule treebank:
    input:
        code=lambda wildcards: acquiring("trees", trees_of(wildcards.task)),
        files=lambda wildcards: own_files(trees_of(wildcards.task)),
    output:
        f"{RESULTS}/{{task}}/treebank.conllu",
    log:
        f"{LOGS}/{{task}}/treebank.log",
    benchmark:
        f"{BENCHMARKS}/{{task}}/treebank.tsv"
    wildcard_constraints:
        task=any_of(study.tasks),
    priority: 100
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        settings=lambda wildcards: settings_json(treebank=trees_of(wildcards.task)),
        seed=lambda wildcards: seed_of(wildcards.task),
        relations=lambda wildcards: " ".join(study.tasks[wildcards.task].attention_stats.relations),
        mirror=mirror_flag,
    shell:
        "python -m headroom acquire --kind trees --settings {params.settings:q} --seed {params.seed} "
        "--relations {params.relations} --output {output} {params.mirror} > {log} 2>&1"
