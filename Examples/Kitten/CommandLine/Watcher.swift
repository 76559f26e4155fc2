import ProcedureKit

/// Reads the queue's events, shows them, and keeps how long each step took.
struct Watcher {
  private var meter: ProgressMeter
  private let isLive: Bool
  private var starts: [ProcedureID: ProcedureInstant] = [:]

  /// How long the bodies of the steps executed, by name.
  private(set) var times: [String: Duration] = [:]

  /// A watcher that has seen nothing yet.
  ///
  /// - Parameters:
  ///   - stepCount: How many steps there will be.
  ///   - isLive: Whether to show one line that changes, instead of a line for each step.
  init(stepCount: Int, isLive: Bool) {
    meter = ProgressMeter(stepCount: stepCount)
    self.isLive = isLive
  }

  /// Reads to the end of the events, which comes when the queue is shut down.
  static func watch(_ events: AsyncStream<ProcedureEvent>, stepCount: Int) async -> [String: Duration] {
    var watcher = Watcher(stepCount: stepCount, isLive: Console.isTerminal)
    for await event in events where event.name != Step.graph { watcher.show(event) }
    if watcher.isLive { Console.print("\r\u{1b}[K", terminator: "") }
    watcher.meter.cancelledLine.map { Console.print($0) }
    return watcher.times
  }

  private mutating func show(_ event: ProcedureEvent) {
    switch event.kind {
    case .willExecute:
      starts[event.id] = event.instant
      meter.stepStarted(event.name)
      redraw()
    case .didExecute:
      times[event.name] = starts.removeValue(forKey: event.id)?.duration(to: event.instant)
    case .didFinish:
      let line = meter.stepFinished(event.name, Self.ending(of: event.outcome ?? .finished(())))
      if isLive {
        redraw()
      } else if let line {
        Console.print(line)
      }
    default:
      break
    }
  }

  private func redraw() {
    guard isLive else { return }
    // One column stays free: in the last one some terminals wrap.
    Console.print("\r" + meter.bar(columnCount: Console.columnCount - 1) + "\u{1b}[K", terminator: "")
  }

  private static func ending(of outcome: ProcedureOutcome<Void>) -> ProgressMeter.Ending {
    switch outcome {
    case .finished: .done
    case .failed(let error): (error as? ProcedureError)?.kind == .dependencyFailed ? .skipped : .failed
    case .cancelled: .cancelled
    case .ignored: .skipped
    }
  }
}
