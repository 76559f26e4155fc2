import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// A disk that can be full or missing, for the guide *Conditions and capabilities*.
actor Disk {
  var free = 2_000
  var isMounted = true
  func unmount() { isMounted = false }
}

struct NotMounted: Error {}

extension Condition {
  /// Satisfied if at least this many bytes are free on the disk.
  static func space(_ bytes: Int, on disk: Disk) -> Condition {
    Condition("\(bytes) bytes free") {
      guard await disk.isMounted else { throw NotMounted() }
      return await disk.free >= bytes
    }
  }
}

actor AudioSystem {
  enum Permission: AuthorizationStatus {
    case undetermined, denied, granted
    func meets(_ requirement: Void) -> Bool { self == .granted }
  }

  let hasMicrophone = true
  var permission = Permission.undetermined
  private(set) var promptCount = 0
  private let answer: Permission

  init(answer: Permission) { self.answer = answer }

  func showPrompt() {
    promptCount += 1
    permission = answer
  }
}

struct Microphone: Capability {
  let system: AudioSystem

  func isAvailable() async -> Bool { system.hasMicrophone }
  func authorizationStatus() async -> AudioSystem.Permission { await system.permission }
  func requestAuthorization(_ requirement: Void) async throws { await system.showPrompt() }
}

/// The code of the guide *Conditions and capabilities*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct ConditionsGuide {
  private struct Link: Sendable {
    var isUp: Bool
    var isMetered = false
  }

  private let upload = ProcedureTask("upload") { "done" }

  @Test("A condition decides the outcome of a procedure")
  func first() async throws {
    let queue = ProcedureQueue("q")
    for link in [Link(isUp: true), Link(isUp: false)] {
      let isOnline = Condition("online") { link.isUp }
      let handle = queue.add(upload.condition(isOnline))
      var message = ""
      switch await handle.outcome {
      case .finished(let answer): message = "uploaded: \(answer)"
      case .ignored(by: let condition): message = "not now: \(condition)"
      case .failed(let error): message = "\(error)"
      case .cancelled: break
      }
      #expect(message == (link.isUp ? "uploaded: done" : "not now: online"))
    }
  }

  @Test("A program can define its own condition")
  func own() async throws {
    let (queue, disk) = (ProcedureQueue("q"), Disk())
    let save = upload.condition(.space(1_000, on: disk))
    #expect(await queue.add(save).outcome.isFinished)
    #expect(await queue.add(upload.condition(.space(3_000, on: disk))).outcome.ignoringCondition == "3000 bytes free")
    await disk.unmount()
    let error = try #require(await queue.add(save).outcome.procedureError)
    #expect(error.kind == .conditionFailed && error.underlying is NotMounted)
  }

  @Test("Combinations of conditions have the results in the guide's table", arguments: ["true", "false", "throws"])
  func combinations(_ one: String) async {
    let queue = ProcedureQueue("q")
    func condition(_ verdict: String) -> Condition {
      Condition(verdict) {
        if verdict == "throws" { throw TestError() }
        return verdict == "true"
      }
    }
    func outcome(_ condition: Condition) async -> String {
      let outcome = await queue.add(upload.condition(condition)).outcome
      return outcome.isFinished ? "executed" : outcome.isIgnored ? "ignored" : outcome.isFailed ? "failed" : "other"
    }
    let c = condition(one)
    #expect(await outcome(c) == ["true": "executed", "false": "ignored", "throws": "failed"][one])
    #expect(await outcome(!c) == ["true": "failed", "false": "executed", "throws": "executed"][one])
    #expect(
      await outcome(c.treatingErrorsAsUnsatisfied())
        == ["true": "executed", "false": "ignored", "throws": "ignored"][one])
    #expect(
      await outcome((!c).treatingErrorsAsUnsatisfied())
        == ["true": "ignored", "false": "executed", "throws": "executed"][one])
    #expect(await outcome(c && condition("true")) == outcome(c))
    #expect(await outcome(c && condition("false")) == ["true": "ignored", "false": "ignored", "throws": "failed"][one])
    #expect(await outcome(c || condition("true")) == "executed")
    #expect(await outcome(c || condition("false")) == outcome(c))
  }

  @Test("A satisfied condition fails when negated, or is unsatisfied if errors are treated as unsatisfied")
  func negation() async throws {
    let queue = ProcedureQueue("q")
    let link = Link(isUp: true, isMetered: true)
    let isMetered = Condition("metered") { link.isMetered }
    let strict = upload.condition(!isMetered)  // fails on a metered link
    let lenient = upload.condition((!isMetered).treatingErrorsAsUnsatisfied())  // is ignored on a metered link
    let error = try #require(await queue.add(strict).outcome.procedureError)
    #expect(error.kind == .conditionFailed && "\(error)".contains("the negated condition \"metered\" was satisfied"))
    #expect(await queue.add(lenient).outcome.isIgnored)
  }

  @Test("A program can define its own capability", arguments: [AudioSystem.Permission.granted, .denied])
  func capability(_ answer: AudioSystem.Permission) async throws {
    let (queue, system) = (ProcedureQueue("q"), AudioSystem(answer: answer))
    let silent = await queue.add(upload.condition(.authorized(for: Microphone(system: system)).silenced())).outcome
    #expect(silent.procedureError?.underlying is CapabilityError)
    #expect(await system.promptCount == 0)

    let microphone = Microphone(system: system)
    let record = ProcedureTask("record") { "a song" }
      .condition(.authorized(for: microphone))  // prompts the user, if necessary
    let handle = queue.add(record)
    let status = try await queue.run(GetAuthorizationStatus(microphone))  // only reads the status; nil: not available

    #expect([.undetermined, answer].contains(try #require(status)))
    let outcome = await handle.outcome
    #expect(outcome.isFinished == (answer == .granted))
    let message = "Microphone is not sufficiently authorized: denied"
    #expect(outcome.isFinished || "\(outcome)".hasSuffix(message), "\(outcome)")
    #expect(await system.promptCount == 1)
  }
}
