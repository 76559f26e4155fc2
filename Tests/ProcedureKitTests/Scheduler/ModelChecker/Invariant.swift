/// The invariants that the model checker verifies. The guide *How it works* contains the same list.
enum Invariant: String, CaseIterable {
  case runs =
    "Every run that was admitted and has not ended is in the machine exactly once, and waits in at most one line: the line for its phase."
  case slots = """
    The number of slots that are taken equals the number of runs that hold a slot. It never exceeds the width of the queue, and the runs \
    with one key never hold more slots than the limit for the key allows.
    """
  case reasons = """
    Every wait can end: a run waits only for another run, for a timer, for its driver, or for the queue to be resumed.
    """
  case work = """
    If a slot is free and a run that could take it is waiting, a worker is being started for the run. Workers are started one at a \
    time.
    """
  case order = """
    A free slot goes to a body that resumes or to a nested run, or else to the waiting run with the highest priority. Runs of equal \
    priority receive slots in order of admission, or their keys take turns.
    """
  case ageing =
    "A run that has waited for the ageing interval gets a slot before later runs at its new priority level."
  case claims = "A claim holds either all of its units or none, and no unit is held twice."
  case requests =
    "Claims on the same resource are granted in order, except nested claims and claims that overtake (R4)."
  case dependencies = """
    A run or a node starts only once, and only after each of its dependencies has succeeded, or has failed in a way that it accepts.
    """
  case suspension = """
    A suspended queue starts no runs, evaluates no conditions and claims no resources, except for nested runs, and all other waiting runs \
    hold no resources.
    """
  case cancellation = "A run that was cancelled before it started never starts, and late events change nothing."
  case room =
    "The number of waiting runs and reservations never exceeds the limits, and callers get room in the order of their requests."
  case progress =
    "Every state in which a run has not ended has a next step, and no sequence of steps leads back to an earlier state."
}
