/// The invariants that the model checker verifies. The guide *How it works* contains the same list.
enum Invariant: String, CaseIterable {
  case runs =
    "Every run that was admitted and has not ended is in the machine exactly once, and waits in at most one line: the line for its phase."
  case slots =
    "The number of slots taken is the number of runs that hold one. It exceeds neither the width nor the limit of a key."
  case reasons = "Every wait has a reason that can end: another run, a timer, a driver, or the owner of the queue."
  case work =
    "No slot stays free while a run that could take it is waiting: a worker is on its way, and only one is starting at a time."
  case order =
    "Slots go to resuming bodies first, then by priority, then by order of admission or by the turns of the keys."
  case claims = "A claim holds either all of its units or none, and no unit is held twice."
  case requests = "No claim is granted before an earlier claim that needs the same resource."
  case dependencies = "A run or a node starts only once, and only after all of its dependencies have succeeded."
  case suspension =
    "A suspended queue starts, evaluates and claims nothing, and runs that are waiting on it hold no resources."
  case cancellation = "A run that was cancelled before it started never starts, and late events change nothing."
  case room = "Waiting runs and reservations do not exceed the limits, and callers are given room in order."
  case progress =
    "Every state in which a run has not ended has a next step, and no sequence of steps leads back to an earlier state."
}
