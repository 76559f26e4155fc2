@testable import ProcedureKit

/// How bodies wait between two attempts, and hold nothing meanwhile: what `givingUpEverything` does.
extension QueueScript {
  func startPause(_ part: ScriptPart) {
    let (member, index) = (part.member, part.member.index)
    visit {
      if machine.leads(index) { noteIfFollowed(.leaderPauses) }
      call("\(index) pause started") {
        $0.pauseStarted(index, &$1)
      } follow: { model, _ in
        model.pauseStarted(index)
      }
    }
    if member.wish != 0 {
      member.hasPaused = true
      visit {
        endWish(of: member)
        settle()
      }
    }
    visit { startLoan(part, .pauses) }
  }

  /// It claims again what it held if nobody else does.
  func endPause(_ part: ScriptPart) {
    let (member, index) = (part.member, part.member.index)
    part.isPausing = true
    visit { endLoan(part) }
    guard index >= 0, member.wish != 0, member.deskClaim == nil, desk.isFree(member.wish) else { return }
    let claim = DeskClaim(member.wish, for: member, priority: model[index].priority, arrival: nextArrival())
    if desk.place(claim, inTurn: nil) { (member.deskClaim, member.claim) = (claim, .held) }
  }

  /// The pause is over once the slot is there again.
  func finishPause(_ part: ScriptPart) {
    let index = part.member.index
    part.isPausing = false
    guard index >= 0 else { return }
    visit {
      call("\(index) pause ended") { machine, _ in
        machine.pauseEnded(index)
      } follow: { model, _ in
        model[index].pauses -= 1
      }
    }
  }
}
