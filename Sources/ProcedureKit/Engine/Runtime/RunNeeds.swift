/// Internal. What has to be there before the body of a run starts; made with a run that needs anything.
///
/// Invariant: guarded by the lock of the run's queue, until the run has left that; from then on it belongs to the worker that lets
/// go of the run.
final class RunNeeds: @unchecked Sendable {
  /// What is needed besides, until the body has ended.
  private(set) var admission: Admission
  /// What it wants to hold, as the table of its queue knows it.
  private(set) var demands: ResourceDemands?
  /// What it claims or holds of that.
  var claim: ResourceClaim?

  /// What it wants to hold, unless it will be let go of. (Invariant: ``release()`` changes nothing then, so that this may be asked
  /// without the lock.)
  var lastingDemands: ResourceDemands? { admission.isFree ? demands : nil }

  init(_ admission: Admission, _ demands: ResourceDemands?) {
    (self.admission, self.demands) = (admission.withoutResources, demands)
  }

  /// Lets go of what only the body needed, if that may have captured something. What it wanted to hold are names of things, to which
  /// many refer.
  func release() {
    guard !admission.isFree else { return }
    admission = .free
    demands = nil
  }

  /// Whether to let go of it lets go of nothing of the user's, since `next` holds the same.
  func isKept(by next: DetachedRun) -> Bool {
    guard admission.isFree, let demands, let others = next.needs?.demands else { return false }
    // Most are runs of the same procedure: then there is no need to look into what many processors count their references in.
    return others === demands || (demands.wholeEntry != nil && others.wholeEntry === demands.wholeEntry)
  }
}
