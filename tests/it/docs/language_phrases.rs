//! Phrases that the project's texts do not use, each with its replacement.

/// A habit: `found` is matched in ASCII, without regard to case, after everything that `fine` matches was taken out.
pub struct Habit {
    pub found: &'static str,
    pub fine: &'static str,
    pub write: &'static str,
}

const fn habit(found: &'static str, fine: &'static str, write: &'static str) -> Habit {
    Habit { found, fine, write }
}

/// Matches nothing.
const NONE: &str = r"^\b$";

pub const HABITS: &[Habit] = &[
    habit(
        r"\b(is|are|was|were|be|been|being) no\b",
        r"\b(there|is|are|was|were) ((has|have|had|can|may|must|will|would|should) )?(is|are|was|were|be|been) no\b|\bthere('s| is| are| was| were) no\b|\b(is|are|was|were|be) no (longer|(more|less|fewer|later|earlier|larger|smaller|greater|deeper|higher|lower|finer|faster|slower) than)\b",
        "is not a valid …, invalid …",
    ),
    habit(r"\b(tell|tells|told|telling)\b", NONE, "show, print, report; distinguish"),
    habit(r"\b(say|says|said|saying)\b", NONE, "show, print, report, state; sent, wrote"),
    habit(r"\b(speaks?|spoke|spoken|speaking)\b", NONE, "send, write, print"),
    habit(
        r"\bof (ours|yours|his|hers|theirs|your own|our own)\b",
        NONE,
        "the owner's name: teamkeep's …, your …",
    ),
    habit(r"\b(stand|stands|stood|standing|lie|lies|lying)\b", NONE, "is, are, was; means, represents"),
    habit(r"\balone\b", r"\b(leave|leaves|left|let) (\w+ ){0,3}alone\b", "only"),
    habit(r"\bnobody\b", NONE, "unassigned; no agent, no one"),
    habit(r"\b(mend|mends|mended|mending)\b", NONE, "fix"),
    habit(r"\bamiss\b", NONE, "wrong"),
    habit(r"\banew\b", NONE, "again"),
    habit(
        r"\b(thereof|herein|therein|whereof|wherein|midst|lest|hitherto|whence|thence)\b",
        NONE,
        "of it, in it, in the middle of, so that … not",
    ),
    habit(r"\blook(s|ed|ing)? (whether|after)\b", NONE, "check, verify; manage"),
    habit(r"\b(hold|holds|held|holding) (\w+ ){0,2}back\b", NONE, "block"),
    habit(r"\blet(s|ting)? (\w+ ){0,3}through\b", NONE, "allow"),
    habit(
        r"\b(the|a|an|any|this|that|which|each|every|no|older|newer|old|new|real|another) clients?\b",
        NONE,
        "Claude Code",
    ),
    habit(r"\bon record\b", NONE, "recorded"),
    habit(r"\bthe (whole )?record\b", NONE, "the store (directory), the recorded data, the event (log)"),
    habit(
        r"\b(go|goes|went|going|gone) on\b",
        r"\b(go|goes|went|going) on (stdout|stderr|the|a|an|one|top)\b",
        "continue",
    ),
    habit(r"\bmail(s|ed|box|boxes)?\b", r"\be-mail(s|ed)?\b", "message, inbox"),
    habit(
        r"\b(a|the|his|its|this|that|each|every|no|unread|waiting|of) letters?\b",
        r"\b(the|a|of|no) letters?(,| and| or) (a )?(digits?|numbers?|marks?)\b|\bthe letters of\b",
        "message",
    ),
    habit(
        r"\b(give|gives|gave|given|giving|put|puts|putting) (\w+ ){0,2}back\b",
        NONE,
        "return, restore, returned to pending",
    ),
    habit(r"\bby (itself|themselves)\b", NONE, "automatically"),
    habit(r"\bmeant\b", r"\bmeant (for|to)\b", "refers to, intended"),
    habit(
        r"\bwhat (is|are|was|were|has|have|had)\b",
        r"\b(see|sees|show|shows|showing|shown|check|checks|explain|explains|know|knows|decide|decides|exactly|ask|asks|of|about|changes?|determines?|depends on|on) what (is|are|was|were|has|have|had)\b|\bwhat (is|are|was|were|has|have|had)\b[a-z ,'_-]*\?",
        "the noun: files that are …, tasks that have …",
    ),
    habit(
        r"(^|[.!:;] +|\n *)(?-i:What)\b",
        r"(?-i:What)\b[a-z ,'_-]*\?|(?-i:What)'s next\b",
        "the noun first: \"The files that …\"",
    ),
    habit(
        r"\bas (it|they) (is|are|was|were|stands?|stood)( then| now)?([.,;:)]|$)",
        NONE,
        "name it: unchanged, its content, its last state",
    ),
    habit(r"\b(is|are|was|were) there already\b", NONE, "already exists"),
    habit(r"\bvoices?\b", NONE, "actor"),
    habit(r"\b(story|stories)\b", NONE, "timeline, run"),
    habit(r"\b(objections?|rulings?|weigh|weighs|weighed|weighing)\b", NONE, "verdict, evaluate"),
    habit(r"\b(settle|settles|settled|settling)\b", NONE, "decide, close, wait until"),
    habit(r"\bpatience\b", r"\b(lock|stdin)-patience\b", "loop guard"),
    habit(r"\bveil(s|ed|ing)?\b", NONE, "metadata-only mode, remove texts"),
    habit(r"\bat work\b", NONE, "working"),
    habit(r"\bheard of\b", NONE, "last event"),
    habit(r"\bmakes? no sense\b", NONE, "is invalid"),
    habit(r"\bfor ever\b", NONE, "forever, indefinitely"),
    habit(r"\bshall\b", NONE, "must, will"),
    habit(
        r"\b(a|this|that|each|every|its|other|which|these|those|of|the) rooms?\b|\brooms\b",
        r"\bthe room (for|left|that is left|on|there)\b",
        "module",
    ),
];
