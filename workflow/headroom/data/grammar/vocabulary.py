"""The words of the invented language pair, as a table: kind, topic, and entries, the most frequent first (Zipf).

One entry is `english=stem`, and after a dot additional information for the translation: the gender of a
noun (m, f, n) or the case that a transitive verb governs (acc, dat). A transitive verb has a second stem, after a
slash, with a plural object; the table `particled` has its stems with particles. The stems are invented; the English
word does not determine its stem, gender or government. Persons are subjects of any verb, animals not of verbs of saying
(clausal); things are seen, given and described; places are locations.
"""

import re

_ENTRIES = """
persons shared: friend=jaular.f teacher=plalald.m doctor=glabalm.n neighbour=robilm.m guest=punirk.n
    stranger=trobost.m singer=pok.f painter=sisk.n
persons near: farmer=datarn.f shepherd=josk.m baker=tragark.n miller=pleirk.n gardener=kluver.f hunter=brerirn.m
    widow=flinund.n beggar=kreint.m carpenter=fagern.n weaver=flekirt.m
persons far: captain=kiveisk.f sailor=metorn.n judge=flidel.n merchant=heind.n lawyer=kurirt.n minister=glok.m
    soldier=trik.n clerk=melurn.f banker=gosk.n printer=kaurarn.m
animals shared: dog=bas.n cat=trotas.m horse=bur.n bird=spauruk.m
animals near: goat=grebeld.m cow=bruvold.n lamb=filut.n hen=bunir.n donkey=bredir.n rabbit=bremil.m
animals far: gull=nund.n seal=zaus.f parrot=drigen.m whale=senaust.m
things shared: book=grulm.n letter=drigut.n chair=dodil.f coin=jimalm.m cloak=denes.f basket=vund.f lamp=fivon.f
    bell=brumel.n
things near: apple=far.m bucket=grasok.f ladder=litund.m plough=barilm.f cart=drorn.n seed=trurk.n cheese=geigast.m
    blanket=trasim.m spoon=surk.n barrel=glonask.m
things far: map=zont.f contract=speibom.n compass=zidal.n anchor=plulm.m cannon=klul.n flag=polin.n treaty=nudarn.f
    sail=taresk.f engine=vegem.n mirror=ronerk.n
places shared: house=pland.f street=fond.m market=skevit.m town=monint.f room=drutur.m
places near: village=din.f garden=krond.m barn=brunend.f meadow=neld.m orchard=todin.m forest=spis.n river=vedarn.f
    kitchen=jegelm.f
places far: harbour=glek.m ship=spudend.f palace=statak.m court=grugirk.m prison=plidusk.m bank=tadeir.n
    island=skosk.m cabin=punem.n
transitive shared: call=heitolm/rem.acc watch=glikork/graubuk.acc help=gild/vesul.acc follow=glolm/kleilul.acc
    need=skegil/treirel.dat love=sturerk/baud.acc visit=pririm/gaum.acc greet=fuleis/leisk.acc
    remember=skaton/plimask.acc
transitive near: chase=jask/krut.acc wash=sort/maur.acc pull=dratir/krinor.acc collect=stesuld/vavisk.acc
    clean=skivest/tritund.acc push=magom/gukad.acc kick=land/lurist.acc gather=dusem/draurort.acc
transitive far: arrest=ston/mauvus.acc accuse=glask/nol.acc attack=klurn/feig.acc reward=mark/trel.acc
    appoint=statin/fotil.acc inspect=klomorn/glaund.acc defend=jameind/gran.acc examine=gavas/flivad.acc
particled shared: call.up=gund call.off=keilelm call.down=stol watch.out=raum help.up=kraud help.out=fisk
    follow.up=geiguk greet.down=kakol
particled near: chase.away=plad chase.off=fel pull.down=zenir pull.up=skaug wash.off=kir push.away=spegust
    push.down=kofil kick.out=maul kick.off=treilam clean.up=gor
particled far: attack.down=flikan defend.off=skeimolm inspect.up=snipam examine.out=plururt
intransitive shared: laugh=grererk wait=zumilm arrive=nir smile=rililm talk=trisem
intransitive near: snore=gok dance=desk work=prel stumble=drost sneeze=galend limp=brok
intransitive far: depart=dern surrender=dis hesitate=rint vanish=skerk protest=krast tremble=rek
ditransitive shared: offer=plunam show=pant return=dit
ditransitive near: pass=fenaur toss=harn
ditransitive far: entrust=jant deliver=dut
clausal shared: believe=rukok claim=trim hope=spudum
clausal near: whisper=subirk guess=rild
clausal far: declare=kloval suspect=tramast
adjectives shared: old=brotun young=bros small=gark big=turast new=probesk good=fern red=golm black=jekand
adjectives near: hungry=rusk muddy=pir wooden=greint lazy=sputost round=jonom fat=hugeirt green=spaneld
adjectives far: royal=konalm secret=skagand famous=klum loyal=praulm golden=fludat foreign=glar heavy=bok
    brave=figild
adverbs shared: often=spugilm never=drer today=jund soon=skald always=susek
adverbs near: slowly=dusuk happily=flokelm early=mul
adverbs far: secretly=prot bravely=fabaust rarely=fonom
"""

TABLES: dict[tuple[str, str], list[str]] = {
    (kind, topic): entries.split()
    for kind, topic, entries in re.findall(r"^(\w+) (\w+):(.*(?:\n +.*)*)", _ENTRIES, flags=re.M)
}
"""The entries by kind and topic."""
