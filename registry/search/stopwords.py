"""The words that say nothing of which tool is wanted."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


STOP_WORDS = _words("""
    a about above after again all also am an and any are as at be because been before being below
    between both but by can could d did do does doing done down during each either else few for
    from further had has have having he her here hers herself him himself his how i if in into is
    it its itself just ll m me more most my myself no nor not now of off on once only or other our
    ours ourselves out over own re s same shall she should so some such t than that the their
    theirs them themselves then there these they this those through to too under until up upon us
    ve very was we were what when where which while who whom whose why will with within without
    would you your yours yourself yourselves
""")

CHATTER_WORDS = _words("""
    allow allows anything appreciate appreciated assist assistance certain chance dear every
    everything give given gives glad going gonna good grateful great hello help helpful helps
    hey hi include includes including interested kindly know let like love make many may maybe
    might mind much must need needed needs nice ok okay one perhaps please possible provide
    provided provides providing really something stuff sure tell thank thanks thing things think
    try trying use used useful user users uses using via wanna want wanted wants way well
    whether wish wonder wondering yes
""")

STOP_WORDS_ABROAD = _words("""
    aber als ao aos au auch auf aus avec bei bitte ce ces cette che ci como con cosa
    cual cuando cuál cómo da de dei dein della delle das dem der desde di donde donne dos dove du dá
    dónde een ein eine einem einen einer el ela ele ella elle ellos em en entre es eso essa esse
    esta este esto et euch favor für gib gli haben hast het hij hoe ich ihm ihn ihr ik il ils
    isso ist je kan kann kannst kein keine kun kunt las le les leur leurs lo maar mais mein
    meine meinen mes meu mia mich mij mijn minha mir moi mon muito muy más möchte
    naar nach necesito nel nella nicht niet noch nos nous não o oder onde ook ou où para
    pela pelo perché pero peux pode por porque pourquoi preciso puede puedes puoi può qu qual
    quale quando que quel quelle quem quero questa questo qui quiero qué se sem seu sich sie
    sind sobre sont su sua sul sulla sur sus também tem tes tiene toi tra tus um uma una
    und une uno unos uns unser veux você voglio vom von voor vor vorrei vos votre vous waar wann
    warum wat wenn wer wie wij wir wird wo ya yo zijn zu zum zur à às über а без бы в во вот все
    вы где да для до его ее если есть же за и из или их к как ко когда кто ли мне можешь можно
    мой моя мы на не него нет но ну о об он она они от по пожалуйста при с со так там то тоже ты
    у уже хочу чем что чтобы эта эти это этот я
""")
"""Function words of German, French, Spanish, Italian, Portuguese, Dutch and Russian. Among mostly
English texts they are rare, so that without this list any German tool would fit any German
message. Words that mean something in English (`comment`, `die`, `os`, `van`) are left out."""
