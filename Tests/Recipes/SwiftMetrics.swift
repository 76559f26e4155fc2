import Metrics
import ProcedureKit

/// Counts the procedures of a queue by their outcome, and measures how long they wait and execute, until the queue is shut down.
func reportMetrics(of queue: ProcedureQueue) async {
  for await event in queue.events {
    guard event.kind == .didFinish, let outcome = event.outcome, let metrics = event.metrics else { continue }
    let dimensions = [("queue", queue.name), ("procedure", event.name)]
    let result =
      switch outcome {
      case .finished: "finished"
      case .failed: "failed"
      case .cancelled: "cancelled"
      case .ignored: "ignored"
      }
    Counter(label: "procedures_ended_total", dimensions: dimensions + [("outcome", result)]).increment()
    Timer(label: "procedure_waiting", dimensions: dimensions).record(duration: metrics.waiting)
    Timer(label: "procedure_executing", dimensions: dimensions).record(duration: metrics.executing)
    Gauge(label: "procedures_executing", dimensions: [("queue", queue.name)]).record(queue.snapshot().slotsInUse)
  }
}
