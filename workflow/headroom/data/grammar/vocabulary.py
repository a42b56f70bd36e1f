"""The words of the invented language pair, as tables.

One entry is `english=stem`, and after a dot what the translation needs to know besides: the gender of a
noun (m, f, n) or the case that a transitive verb governs (acc, dat). The stems are made up; nothing in the
English word tells its stem, gender or government. Within a table the order is the order of frequency (Zipf).
"""

PERSONS: dict[str, str] = {
    "shared": """
        friend=jaular.f teacher=plalald.m doctor=glabalm.n neighbour=robilm.m guest=punirk.n
        stranger=trobost.m singer=pok.f painter=sisk.n
    """,
    "near": """
        farmer=datarn.f shepherd=josk.m baker=tragark.n miller=pleirk.n gardener=kluver.f
        hunter=brerirn.m widow=flinund.n beggar=kreint.m carpenter=fagern.n weaver=flekirt.m
    """,
    "far": """
        captain=kiveisk.f sailor=metorn.n judge=flidel.n merchant=heind.n lawyer=kurirt.n
        minister=glok.m soldier=trik.n clerk=melurn.f banker=gosk.n printer=kaurarn.m
    """,
}
"""Nouns that can be subjects of any verb."""

ANIMALS: dict[str, str] = {
    "shared": """
        dog=bas.n cat=trotas.m horse=bur.n bird=spauruk.m
    """,
    "near": """
        goat=grebeld.m cow=bruvold.n lamb=filut.n hen=bunir.n donkey=bredir.n rabbit=bremil.m
    """,
    "far": """
        gull=nund.n seal=zaus.f parrot=drigen.m whale=senaust.m
    """,
}
"""Nouns that can be subjects, but not of verbs of saying."""

THINGS: dict[str, str] = {
    "shared": """
        book=grulm.n letter=drigut.n chair=dodil.f coin=jimalm.m cloak=denes.f basket=vund.f
        lamp=fivon.f bell=brumel.n
    """,
    "near": """
        apple=far.m bucket=grasok.f ladder=litund.m plough=barilm.f cart=drorn.n seed=trurk.n
        cheese=geigast.m blanket=trasim.m spoon=surk.n barrel=glonask.m
    """,
    "far": """
        map=zont.f contract=speibom.n compass=zidal.n anchor=plulm.m cannon=klul.n flag=polin.n
        treaty=nudarn.f sail=taresk.f engine=vegem.n mirror=ronerk.n
    """,
}
"""Nouns that are seen, given and described."""

PLACES: dict[str, str] = {
    "shared": """
        house=pland.f street=fond.m market=skevit.m town=monint.f room=drutur.m
    """,
    "near": """
        village=din.f garden=krond.m barn=brunend.f meadow=neld.m orchard=todin.m forest=spis.n
        river=vedarn.f kitchen=jegelm.f
    """,
    "far": """
        harbour=glek.m ship=spudend.f palace=statak.m court=grugirk.m prison=plidusk.m bank=tadeir.n
        island=skosk.m cabin=punem.n
    """,
}
"""Nouns of the places where things happen."""

TRANSITIVE: dict[str, str] = {
    "shared": """
        call=heitolm.acc watch=glikork.acc help=gild.acc follow=glolm.acc need=skegil.dat
        love=sturerk.acc visit=pririm.acc greet=fuleis.acc remember=skaton.acc
    """,
    "near": """
        chase=jask.acc wash=sort.acc pull=dratir.acc collect=stesuld.acc clean=skivest.acc
        push=magom.acc kick=land.acc gather=dusem.acc
    """,
    "far": """
        arrest=ston.acc accuse=glask.acc attack=klurn.acc reward=mark.acc appoint=statin.acc
        inspect=klomorn.acc defend=jameind.acc examine=gavas.acc
    """,
}
"""Verbs with one object."""

INTRANSITIVE: dict[str, str] = {
    "shared": """
        laugh=grererk wait=zumilm arrive=nir smile=rililm talk=trisem
    """,
    "near": """
        snore=gok dance=desk work=prel stumble=drost sneeze=galend limp=brok
    """,
    "far": """
        depart=dern surrender=dis hesitate=rint vanish=skerk protest=krast tremble=rek
    """,
}
"""Verbs without an object."""

DITRANSITIVE: dict[str, str] = {
    "shared": """
        offer=plunam show=pant return=dit
    """,
    "near": """
        pass=fenaur toss=harn
    """,
    "far": """
        entrust=jant deliver=dut
    """,
}
"""Verbs with a thing and a recipient."""

CLAUSAL: dict[str, str] = {
    "shared": """
        believe=rukok claim=trim hope=spudum
    """,
    "near": """
        whisper=subirk guess=rild
    """,
    "far": """
        declare=kloval suspect=tramast
    """,
}
"""Verbs with a clause for their object."""

ADJECTIVES: dict[str, str] = {
    "shared": """
        old=brotun young=bros small=gark big=turast new=probesk good=fern red=golm black=jekand
    """,
    "near": """
        hungry=rusk muddy=pir wooden=greint lazy=sputost round=jonom fat=hugeirt green=spaneld
    """,
    "far": """
        royal=konalm secret=skagand famous=klum loyal=praulm golden=fludat foreign=glar heavy=bok
        brave=figild
    """,
}
"""Adjectives."""

ADVERBS: dict[str, str] = {
    "shared": """
        often=spugilm never=drer today=jund soon=skald always=susek
    """,
    "near": """
        slowly=dusuk happily=flokelm early=mul
    """,
    "far": """
        secretly=prot bravely=fabaust rarely=fonom
    """,
}
"""Adverbs of time and manner."""
