import Testing

@testable import ProcedureKitNetwork

/// The decisions about a transfer, without libcurl.
@Suite struct CurlTransferMachineTests {
  private let now = ContinuousClock.now

  private func machine(idle: Duration? = nil) -> CurlTransferMachine {
    CurlTransferMachine(CurlTransferMachine.Limits(head: 100, unread: 10, idle: idle))
  }

  private func started(idle: Duration? = nil) -> CurlTransferMachine {
    var machine = machine(idle: idle)
    let answer1 = machine.started()
    #expect(answer1)
    return machine
  }

  @Test("A transfer succeeds only if its head has come to its end", arguments: [false, true])
  func success(_ hasHead: Bool) {
    var machine = started()
    let answer2 = machine.headArrived(50)
    #expect(answer2)
    if hasHead {
      let end = machine.headEnded(status: 200)
      #expect(end == .final)
    }
    machine.ended(code: 0)
    #expect(machine.failure == (hasHead ? nil : .headCut))
    #expect(machine.phase == .ended)
  }

  @Test("Heads of the class 1xx precede the head, count for the limit, and 101 is refused")
  func interim() {
    var machine = started()
    for status in [100, 103, 199] {
      let answer3 = machine.headArrived(20)
      #expect(answer3)
      let answer4 = machine.headEnded(status: status)
      #expect(answer4 == .interim)
      #expect(machine.phase == .head)
    }
    var other = machine
    let answer5 = other.headEnded(status: 101)
    #expect(answer5 == .refused)
    #expect(other.failure == .unexpectedUpgrade)
    let answer6 = machine.headEnded(status: 200)
    #expect(answer6 == .final)
    // The trailers count, too.
    let answer7 = machine.headArrived(40)
    #expect(answer7)
    let answer8 = machine.headArrived(1)
    #expect(answer8 == false)
    machine.ended(code: 23)
    #expect(machine.failure == .headTooLong)
  }

  @Test("Bytes that are not read pause the transfer at the limit, and reading resumes it")
  func pauses() {
    var machine = started()
    let answer9 = machine.headEnded(status: 200)
    #expect(answer9 == .final)
    // The piece that reaches the limit is kept: libcurl has it in memory already.
    for _ in 1...2 {
      let answer10 = machine.bodyArrived(5)
      #expect(answer10)
    }
    let answer11 = machine.bodyArrived(5)
    #expect(answer11 == false)
    #expect(machine.isReceivingPaused)
    let answer12 = machine.bodyTaken()
    #expect(answer12)
    machine.resumed(canReceive: true, canSend: false, at: now)
    #expect(!machine.isReceivingPaused)
    let answer13 = machine.bodyArrived(5)
    #expect(answer13)
    let answer14 = machine.bodyTaken()
    #expect(answer14 == false)
  }

  @Test("A body that is not produced yet pauses sending until there is some, or its end")
  func supply() {
    var machine = started()
    let answer15 = machine.supplyWanted(hasBytes: true, isComplete: false)
    #expect(answer15 == .bytes)
    let answer16 = machine.supplyWanted(hasBytes: false, isComplete: true)
    #expect(answer16 == .end)
    let answer17 = machine.supplyWanted(hasBytes: false, isComplete: false)
    #expect(answer17 == .pause)
    #expect(machine.isSendingPaused)
    machine.resumed(canReceive: true, canSend: false, at: now)
    #expect(machine.isSendingPaused)
    machine.resumed(canReceive: true, canSend: true, at: now)
    #expect(!machine.isSendingPaused)
  }

  @Test("Only the peer's time counts as idle")
  func idle() {
    var machine = started(idle: .seconds(9))
    #expect(machine.idleDeadline == nil)
    machine.wasActive(at: now)
    #expect(machine.idleDeadline == now + .seconds(9))
    let answer18 = machine.supplyWanted(hasBytes: false, isComplete: false)
    #expect(answer18 == .pause)
    #expect(machine.idleDeadline == nil)
    machine.resumed(canReceive: true, canSend: true, at: now + .seconds(20))
    #expect(machine.idleDeadline == now + .seconds(29))
    #expect(started().idleDeadline == nil)
  }

  @Test("The first failure counts, and a transfer that was cancelled before its start is not started")
  func failures() {
    var machine = machine()
    machine.fail(.cancelled)
    machine.fail(.idle)
    let answer19 = machine.started()
    #expect(answer19 == false)
    machine.ended(code: 0)
    machine.fail(.sourceFailed)
    #expect(machine.failure == .cancelled)

    var other = started()
    let answer20 = other.transferCodingArrived(isChunked: false)
    #expect(answer20 == false)
    let answer21 = other.headEnded(status: 200)
    #expect(answer21 == .refused)
    other.ended(code: 23)
    #expect(other.failure == .unexpectedCoding)

    var third = started()
    third.ended(code: 56)
    #expect(third.failure == .curl(56))
  }
}
