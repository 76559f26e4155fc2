public import ProcedureKit

/// The state and the totals of queues in the Prometheus text format. Use it in a server that responds to requests for `/metrics`.
///
/// ```swift
/// let page = PrometheusText([uploads.snapshot(), thumbnails.snapshot()])
/// respond(page.text, contentType: PrometheusText.contentType)
/// ```
///
/// The label `queue` contains the name of the queue, and the values of queues with the same name are added together. Counters and
/// histograms are available only for queues with `collectsTotals`. Times are in seconds.
///
/// | metric | type | other labels |
/// |---|---|---|
/// | `procedurekit_procedures` | gauge | `state`, and `key` if requested |
/// | `procedurekit_slots`, `procedurekit_slots_in_use` | gauge | |
/// | `procedurekit_suspended_queues` | gauge | |
/// | `procedurekit_procedures_ended_total` | counter | `outcome` |
/// | `procedurekit_procedures_reused_total`, `…_refused_total`, `procedurekit_retries_total` | counter | |
/// | `procedurekit_time_seconds_total` | counter | `part` |
/// | `procedurekit_wait_seconds`, `procedurekit_execution_seconds` | histogram | |
///
/// The format is the [text exposition format 0.0.4](https://prometheus.io/docs/instrumenting/exposition_formats/).
public struct PrometheusText: Sendable {
  /// The media type of the text, for use in the header field `Content-Type`.
  public static let contentType = "text/plain; version=0.0.4; charset=utf-8"

  /// The text, which ends with a line break.
  public let text: String

  /// Creates the text.
  ///
  /// ```swift
  /// let page = PrometheusText([jobs.snapshot()], maxKeys: 50)
  /// // procedurekit_procedures{queue="jobs",state="waiting",key="acme"} 12
  /// ```
  ///
  /// With `maxKeys`, each of the busiest keys (`Procedure.keyed(by:)`), such as a tenant's key, gets a separate series of
  /// `procedurekit_procedures`, with the label `key`. The values of all series add up to the value that is reported if `maxKeys` is 0. The
  /// label is omitted by default, because Prometheus stores each label value as a separate time series. With a key for each user or
  /// request, the database would grow without limit. Limiting the keys on each page does not prevent this growth if the busiest keys keep
  /// changing.
  ///
  /// - Parameters:
  ///   - snapshots: The snapshots of the queues. The names of queues are shortened to 200 characters.
  ///   - maxKeys: The maximum number of keys per queue that get separate series. The keys with the most unfinished procedures are
  ///     chosen. All other procedures are counted in the series without the label. If the value is 0, there are no separate series.
  ///     Keys are shortened to 200 characters.
  /// - Complexity: O(n + k log k) for n procedures and k keys on the queues.
  public init(_ snapshots: [QueueSnapshot], maxKeys: Int = 0) {
    let maxKeys = max(maxKeys, 0)
    let queues = PrometheusQueue.merged(snapshots, countsKeys: maxKeys > 0)
    let counted = queues.compactMap { queue in queue.totals.map { (queue.name, $0) } }
    var page = PrometheusPage()

    page.begin("procedurekit_procedures", .gauge, "Unfinished procedures on the queue.")
    for queue in queues {
      let (keys, rest) = queue.busiestKeys(maxKeys)
      for state in PrometheusQueue.states {
        let labels = [("queue", queue.name), ("state", "\(state)")]
        page.add(Double(rest[state, default: 0]), labels)
        for (key, states) in keys {
          if let count = states[state] { page.add(Double(count), labels + [("key", key)]) }
        }
      }
    }
    page.begin("procedurekit_slots", .gauge, "The maximum number of bodies that can execute simultaneously.")
    for queue in queues { page.add(queue.slots, [("queue", queue.name)]) }
    page.begin("procedurekit_slots_in_use", .gauge, "Slots in use.")
    for queue in queues { page.add(Double(queue.slotsInUse), [("queue", queue.name)]) }
    page.begin("procedurekit_suspended_queues", .gauge, "The number of queues that are suspended.")
    for queue in queues { page.add(Double(queue.suspendedCount), [("queue", queue.name)]) }

    page.begin("procedurekit_procedures_ended_total", .counter, "Procedures that have ended, by outcome.")
    for (name, totals) in counted {
      let counts = [
        ("finished", totals.finishedCount), ("failed", totals.failedCount), ("cancelled", totals.cancelledCount),
        ("ignored", totals.ignoredCount),
      ]
      for (outcome, count) in counts { page.add(Double(count), [("queue", name), ("outcome", outcome)]) }
    }
    page.begin(
      "procedurekit_procedures_reused_total", .counter, "Procedures that reused an existing value.")
    for (name, totals) in counted { page.add(Double(totals.reusedCount), [("queue", name)]) }
    page.begin("procedurekit_procedures_refused_total", .counter, "Procedures that the queue refused.")
    for (name, totals) in counted { page.add(Double(totals.refusedCount), [("queue", name)]) }
    page.begin("procedurekit_retries_total", .counter, "Attempts after the first.")
    for (name, totals) in counted { page.add(Double(totals.retryCount), [("queue", name)]) }
    page.begin("procedurekit_time_seconds_total", .counter, "Time that procedures have spent in each phase.")
    for (name, totals) in counted {
      let times = totals.times
      let parts = [
        ("pending", times.pending), ("evaluating", times.evaluating), ("waiting", times.waiting),
        ("executing", times.executing), ("paused", times.paused), ("finishing", times.finishing),
      ]
      for (part, time) in parts { page.add(time.inSeconds, [("queue", name), ("part", part)]) }
    }
    page.begin("procedurekit_wait_seconds", .histogram, "Time that a procedure spends waiting to execute.")
    for (name, totals) in counted { page.add(totals.waiting, [("queue", name)]) }
    page.begin("procedurekit_execution_seconds", .histogram, "Time that a procedure's body spends executing.")
    for (name, totals) in counted { page.add(totals.executing, [("queue", name)]) }
    text = page.text
  }
}
