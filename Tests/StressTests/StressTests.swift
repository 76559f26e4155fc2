import Testing

/// Load that no user will put on the library, with everything counted afterwards.
///
/// An ordinary run makes one small round of each scenario; `PROCEDUREKIT_DEPTH` asks for more and larger ones. One after the
/// other: each fills the machine. The memory that a scenario leaves behind is judged only where nothing else runs in the
/// process, as in `PROCEDUREKIT_DEPTH=deep swift test --filter StressTests`.
@Suite(.serialized)
struct StressTests {}
