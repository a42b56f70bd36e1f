# Text and trees, in a common form for all sources.
if translation:

    rule parallel_text:
        input:
            code=provided_by("parallel", translation.corpus),
            files=outside(own_files(translation.corpus)),
        output:
            plan.all_texts("translation"),
            [f"{RESULTS}/translation/corpus/{name}.conllu" for name in plan.sets_with_trees()],
            [f"{RESULTS}/translation/corpus/{name}.phenomena.csv" for name in plan.sets_with_trees()],
            f"{RESULTS}/translation/corpus/corpus.json",
        log:
            f"{LOGS}/translation/parallel_text.log",
        benchmark:
            f"{BENCHMARKS}/translation/parallel_text.tsv"
        conda:
            environment_of(translation.corpus)
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=as_json(corpus=translation.corpus),
            mirror=mirror_flag,
        shell:
            "python -m headroom acquire --kind parallel --settings {params.settings:q} --output {params.directory} "
            "{params.mirror} > {log} 2>&1"


# The outputs of a rule are fixed: tasks with different far domains have separate rules.
for number, (far, names) in enumerate(plan.tasks_by_far_names().items(), 1):

    rule:
        name:
            "labelled_text" if number == 1 else f"labelled_text_{number}"
        input:
            code=lambda wildcards: provided_by("labelled", classification[wildcards.task].corpus),
            files=lambda wildcards: outside(own_files(classification[wildcards.task].corpus)),
        output:
            plan.texts("{task}", *SPLITS, *far),
        log:
            f"{LOGS}/{{task}}/labelled_text.log",
        benchmark:
            f"{BENCHMARKS}/{{task}}/labelled_text.tsv"
        wildcard_constraints:
            task=any_of(names),
        conda:
            lambda wildcards: environment_of(classification[wildcards.task].corpus)
        threads: 1
        resources:
            mem_mb=memory(4000),
            runtime=60,
        params:
            directory=subpath(output[0], parent=True),
            settings=lambda wildcards: as_json(corpus=classification[wildcards.task].corpus),
            mirror=mirror_flag,
        shell:
            "python -m headroom acquire --kind labelled --settings {params.settings:q} --output {params.directory} "
            "{params.mirror} > {log} 2>&1"


# Dependency trees in the language of a task's encoder. High priority: fail early if a relation is missing.
rule treebank:
    input:
        code=lambda wildcards: provided_by("trees", plan.trees(wildcards.task)),
        files=tree_files,
    output:
        f"{RESULTS}/{{task}}/treebank.conllu",
    log:
        f"{LOGS}/{{task}}/treebank.log",
    benchmark:
        f"{BENCHMARKS}/{{task}}/treebank.tsv"
    priority: 100
    conda:
        "../../envs/plain.yaml"
    threads: 1
    resources:
        mem_mb=memory(2000),
        runtime=30,
    params:
        settings=lambda wildcards: as_json(treebank=plan.trees(wildcards.task)),
        path=lambda wildcards, input: f"--path {input.files}" if plan.trees_beside_text(wildcards.task) else "",
        seed=lambda wildcards: plan.seed_of_trees(wildcards.task),
        relations=lambda wildcards: study.tasks[wildcards.task].attention_stats.relations,
        mirror=mirror_flag,
    shell:
        "python -m headroom acquire --kind trees --settings {params.settings:q} --seed {params.seed} "
        "{params.path} --relations {params.relations} --output {output} {params.mirror} > {log} 2>&1"
