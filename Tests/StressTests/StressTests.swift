import Testing

/// Load that no user will put on the library, with everything counted afterwards.
///
/// `PROCEDUREKIT_STRESS=5 swift test --filter StressTests` runs every scenario five times after a warm-up. Without the
/// variable, nothing here runs. One after the other: each looks at the memory of the whole process.
@Suite(.serialized, .enabled(if: Stress.isAskedFor), .timeLimit(.minutes(10)))
struct StressTests {}
