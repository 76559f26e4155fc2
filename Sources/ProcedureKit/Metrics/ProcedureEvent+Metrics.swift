extension ProcedureEvent {
  /// The time that the run has spent in each part of its life, of ``Kind-swift.struct/didFinish``.
  public var metrics: ProcedureMetrics? { nil }

  /// The number of the slot in which the body executes, from 0, of ``Kind-swift.struct/willExecute`` and
  /// ``Kind-swift.struct/didExecute``; `nil` for a body without a slot of its own.
  public var slot: Int? { nil }

  /// The procedures whose end the run waits for, of ``Kind-swift.struct/didAttach``.
  public var dependencies: [ProcedureID] { [] }
}
