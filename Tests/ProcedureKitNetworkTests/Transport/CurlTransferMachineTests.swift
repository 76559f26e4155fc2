import Testing

@testable import ProcedureKitNetwork

/// Tests the decisions about a transfer, without libcurl.
@Suite struct CurlTransferMachineTests {
  private let now = ContinuousClock.now

  private func machine(idle: Duration? = nil, total: Duration? = nil) -> CurlTransferMachine {
    CurlTransferMachine(CurlTransferMachine.Limits(head: 100, unread: 10, idle: idle, total: total))
  }

  private func started(idle: Duration? = nil, total: Duration? = nil) -> CurlTransferMachine {
    var machine = machine(idle: idle, total: total)
    let answer1 = machine.started(at: now)
    #expect(answer1)
    return machine
  }

  /// Sends a complete head, which consists of its first line and its end.
  private func answer(
    _ machine: inout CurlTransferMachine, _ status: Int, length: Int64? = nil
  ) -> CurlTransferMachine.HeadEnd {
    machine.statusLineArrived(status) ? machine.headEnded(announcedLength: length) : .refused
  }

  @Test("A transfer succeeds only if its head is complete", arguments: [false, true])
  func success(_ hasHead: Bool) {
    var machine = started()
    let answer2 = machine.headArrived(50)
    #expect(answer2)
    if hasHead {
      let end = answer(&machine, 200)
      #expect(end == .final)
    }
    machine.ended(code: 0)
    #expect(machine.failure == (hasHead ? nil : .headCut))
    #expect(machine.phase == .ended)
  }

  @Test("Heads of the class 1xx precede the head and count towards the limit, and 101 is refused")
  func interim() {
    var machine = started()
    for status in [100, 103, 199] {
      let answer3 = machine.headArrived(20)
      #expect(answer3)
      let answer4 = answer(&machine, status)
      #expect(answer4 == .interim)
      #expect(machine.phase == .head(status: nil))
    }
    var other = machine
    let answer5 = answer(&other, 101)
    #expect(answer5 == .refused)
    #expect(other.failure == .unexpectedUpgrade)
    let answer6 = answer(&machine, 200)
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
    let answer9 = answer(&machine, 200)
    #expect(answer9 == .final)
    // The piece that reaches the limit is kept, because libcurl already has it in memory.
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

  @Test("A body that has not been produced yet pauses sending until more of it, or its end, is available")
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

  @Test("Only the time of the peer counts as idle time")
  func idle() {
    var machine = started(idle: .seconds(9))
    #expect(machine.idleDeadline == now + .seconds(9))
    let answer18 = machine.supplyWanted(hasBytes: false, isComplete: false)
    #expect(answer18 == .pause)
    #expect(machine.idleDeadline == nil)
    machine.resumed(canReceive: true, canSend: true, at: now + .seconds(20))
    #expect(machine.idleDeadline == now + .seconds(29))
    #expect(started().idleDeadline == nil)
  }

  @Test("The total time includes activity and pauses", arguments: [false, true], [nil, Duration.seconds(9)])
  func total(_ isPaused: Bool, _ idle: Duration?) {
    let end = now + .seconds(30)
    var machine = started(idle: idle, total: .seconds(30))
    let first = machine.turn(at: now)
    #expect(first == .wait(until: now + (idle ?? .seconds(30))))
    let last = now + .milliseconds(29_500)
    machine.wasActive(at: last)
    if isPaused {
      let supply = machine.supplyWanted(hasBytes: false, isComplete: false)
      #expect(supply == .pause)
    }
    let turns = [last, end].map { machine.turn(at: $0) }
    #expect(turns == [.wait(until: end), .end])
    #expect(machine.failure == .total)
  }

  @Test("A head has exactly one valid status line, which is its first line")
  func statusLines() {
    var machine = started()
    let first = machine.statusLineArrived(200)
    #expect(first)
    var second = machine
    let again = second.statusLineArrived(204)
    #expect(again == false)
    #expect(second.failure == .badStatusLine)
    var unknown = started()
    let none = unknown.statusLineArrived(nil)
    #expect(none == false)
    #expect(unknown.failure == .badStatusLine)

    // After an interim head, the status is that of the next head.
    var interim = started()
    let end = answer(&interim, 103)
    #expect(end == .interim)
    let early = interim.headEnded()
    #expect(early == .refused)
    #expect(interim.failure == .badStatusLine)

    // libcurl has seen the end of a head that is not a head.
    let isKept = machine.bodyArrived(1)
    #expect(isKept == false)
    #expect(machine.failure == .badStatusLine)
  }

  @Test("A refused body ends immediately, even if most of it is left to send, and an error of its source has no effect")
  func refusal() {
    var machine = started()
    let paused = machine.supplyWanted(hasBytes: false, isComplete: false)
    #expect(paused == .pause)
    let end = answer(&machine, 413, length: 2)
    #expect(end == .final)
    #expect(machine.isBodyRefused)
    let turn = machine.turn(at: now)
    #expect(turn == .resume)
    machine.resumed(canReceive: true, canSend: false, at: now)
    #expect(!machine.isSendingPaused)
    for hasBytes in [true, false] {
      let supply = machine.supplyWanted(hasBytes: hasBytes, isComplete: false)
      #expect(supply == .end)
    }
    let isOver = machine.sourceFailed()
    #expect(isOver == false)
    var accepted = started()
    let failed = accepted.sourceFailed()
    #expect(failed)
    #expect(accepted.failure == .sourceFailed)
  }

  @Test(
    "A refusal with its complete body ends the transfer, and neither a send error nor silence is then a failure",
    arguments: [1, 2], [413, 200])
  func answered(_ count: Int, _ status: Int) {
    let isAnswered = count == 2 && status == 413
    var machine = started(idle: .seconds(9))
    let end = answer(&machine, status, length: 2)
    #expect(end == .final)
    let isKept = machine.bodyArrived(count)
    #expect(isKept)
    var idle = machine
    let first = idle.turn(at: now)
    #expect(first == (isAnswered ? .end : .wait(until: now + .seconds(9))))
    let turn = idle.turn(at: now + .seconds(9))
    #expect(turn == .end)
    idle.ended(code: 0)
    #expect(idle.failure == (isAnswered ? nil : .idle))
    machine.ended(code: 55)
    #expect(machine.failure == (isAnswered ? nil : .curl(55)))
  }

  @Test("While the sender is paused, the peer is checked once per second, and a closed connection ends the transfer")
  func looks() {
    var machine = started(idle: .seconds(9))
    let supply = machine.supplyWanted(hasBytes: false, isComplete: false)
    #expect(supply == .pause)
    let second = now + .seconds(1)
    let turns = [now, now + .milliseconds(999), second, second, now + .seconds(2)].map { machine.turn(at: $0) }
    #expect(turns == [.wait(until: second), .wait(until: second), .look, .wait(until: now + .seconds(2)), .look])
    var answered = machine
    let end = answer(&answered, 200)
    #expect(end == .final)
    answered.peerClosed()
    let next = answered.turn(at: second)
    #expect(next == .resume)
    machine.peerClosed()
    let last = machine.turn(at: second)
    #expect(last == .end)
    #expect(machine.failure == .headCut)
  }

  @Test("A turn of the loop has a limited number of steps, and the next turn counts from the beginning")
  func steps() {
    var machine = started()
    for _ in 1...2 {
      for _ in 1...CurlTransferMachine.Limits.stepsPerTurn {
        let continues = machine.progressed()
        guard continues else {
          Issue.record("the transfer ends early")
          return
        }
      }
      let turn = machine.turn(at: now)
      #expect(turn == .wait(until: nil))
    }
    for _ in 1...CurlTransferMachine.Limits.stepsPerTurn { _ = machine.progressed() }
    let continues = machine.progressed()
    #expect(continues == false)
    let turn = machine.turn(at: now)
    #expect(turn == .end)
    #expect(machine.failure == .proxyResponseTooLong)
  }

  @Test("The first failure counts, and a transfer that was cancelled before its start is not started")
  func failures() {
    var machine = machine()
    machine.fail(.cancelled)
    machine.fail(.idle)
    let answer19 = machine.started(at: now)
    #expect(answer19 == false)
    machine.ended(code: 0)
    machine.fail(.sourceFailed)
    #expect(machine.failure == .cancelled)

    var other = started()
    let answer20 = other.transferCodingArrived(isChunked: false)
    #expect(answer20 == false)
    let answer21 = answer(&other, 200)
    #expect(answer21 == .refused)
    other.ended(code: 23)
    #expect(other.failure == .unexpectedCoding)

    var third = started()
    third.ended(code: 56)
    #expect(third.failure == .curl(56))
  }
}
