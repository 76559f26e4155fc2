/// The time that one run has spent in each part of its life, and its attempts.
///
/// Waits and pauses count wherever a modifier stands. While one layer of a procedure pauses and another one executes, as the copies of a hedge
/// can, the time counts as executing.
///
/// All durations are measured on the clock of the queue. See ``ProcedureEvent/metrics``.
public struct ProcedureMetrics: Hashable, Codable, Sendable {
  /// The time in which the run waited for its dependencies.
  public var pending: Duration
  /// The time in which conditions were evaluated.
  public var evaluating: Duration
  /// The time in which the run waited for resources, for its slot, or for room on the queue.
  public var waiting: Duration
  /// The part of ``waiting`` in which the run waited for resources.
  public var claiming: Duration
  /// The time in which the body executed; for several attempts, the sum.
  public var executing: Duration
  /// The time of the pauses: of a delay, between attempts, between repetitions.
  public var paused: Duration
  /// The time after the body, in which the run waited for children that the body produced, and called its end hooks.
  public var finishing: Duration
  /// The number of attempts that have started, including the retries of every layer of the procedure and of the procedures that its body calls; 0
  /// if the body was never called.
  public var attempts: Int

  /// Creates metrics from their parts.
  public init(
    pending: Duration = .zero, evaluating: Duration = .zero, waiting: Duration = .zero, claiming: Duration = .zero,
    executing: Duration = .zero, paused: Duration = .zero, finishing: Duration = .zero, attempts: Int = 0
  ) {
    (self.pending, self.evaluating, self.waiting, self.claiming) = (pending, evaluating, waiting, claiming)
    (self.executing, self.paused, self.finishing, self.attempts) = (executing, paused, finishing, attempts)
  }

  /// Decodes metrics, including those of versions without ``finishing`` or ``claiming``.
  ///
  /// - Throws: `DecodingError`.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    func duration(_ key: CodingKeys) throws -> Duration { try container.decode(Duration.self, forKey: key) }
    self.init(
      pending: try duration(.pending), evaluating: try duration(.evaluating), waiting: try duration(.waiting),
      claiming: try container.decodeIfPresent(Duration.self, forKey: .claiming) ?? .zero,
      executing: try duration(.executing), paused: try duration(.paused),
      finishing: try container.decodeIfPresent(Duration.self, forKey: .finishing) ?? .zero,
      attempts: try container.decode(Int.self, forKey: .attempts))
  }

  /// The sum of all durations, saturated, without ``claiming``, which is a part of another one.
  public var total: Duration {
    [evaluating, waiting, executing, paused, finishing].reduce(pending) { $0.addingSaturated($1) }
  }
}
