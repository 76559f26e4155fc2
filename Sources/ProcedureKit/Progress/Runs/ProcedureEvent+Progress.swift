extension ProcedureEvent {
  /// How far the run is, of ``Kind-swift.struct/progress``.
  public var progress: ProcedureProgress? {
    if case .progress(let progress)? = details?.step { progress } else { nil }
  }
}
