import ProcedureKit

/// The execution times of the steps' bodies.
enum StepTimes {
  /// Consumes events until the queue is shut down.
  ///
  /// - Returns: The times, keyed by the names of the steps.
  static func measure(_ events: AsyncStream<ProcedureEvent>) async -> [SystemText: Duration] {
    var times: [SystemText: Duration] = [:]
    for await event in events {
      guard event.graph != nil, let metrics = event.metrics, metrics.attempts > 0 else { continue }
      times[SystemText(event.name)] = metrics.executing
    }
    return times
  }
}
