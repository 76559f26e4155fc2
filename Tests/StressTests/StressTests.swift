import TestSupport
import Testing

/// Tests with more load than any user will put on the library, after which everything is counted.
///
/// An ordinary run performs one small round of each scenario; `PROCEDUREKIT_DEPTH` requests more and larger ones. The scenarios run one
/// after another, because each of them uses the whole machine. The memory that a scenario leaves behind is checked only if nothing else
/// runs in the process, as in `PROCEDUREKIT_DEPTH=deep swift test --filter StressTests`.
@Suite(.serialized, .timeLimit(.atDepth))
struct StressTests {}
