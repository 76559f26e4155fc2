import ProcedureKit
import Testing
import TestingProcedureKit

private struct Photo {
  var name: String
  var size: Int
}

struct PrintHandler: ProcedureLogHandler {
  func handle(_ message: ProcedureLogMessage) {
    // With swift-log: logger.log(level: .init(rawValue: "\(message.level)")!, "\(message.text)", metadata: …)
    print(message)
  }
}

/// The code of the guide *Seeing what happens*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct SeeingWhatHappensGuide {
  @Test("A log receives the messages of a queue")
  func logs() async throws {
    let send = ProcedureTask("send") { (photo: Photo) in
      ProcedureContext.current?.log.log(level: .notice, "\(photo.size) bytes", metadata: ["photo": photo.name])
    }
    let collector = LogCollector()
    var collecting = ProcedureQueue.Configuration("uploads")
    collecting.log = ProcedureLog(to: collector)
    try await ProcedureQueue(collecting).run(send, input: Photo(name: "kitten", size: 4_096))
    let message = try #require(collector.messages.first)
    let id = try #require(message.metadata["procedure.id"])
    #expect(
      message.description
        == "notice: 4096 bytes [attempt=1 photo=kitten procedure.id=\(id) procedure.name=send queue.name=uploads]"
    )
  }

  @Test("Messages can be redirected to another log")
  func redirecting() async throws {
    var configuration = ProcedureQueue.Configuration("uploads")
    configuration.log = ProcedureLog(level: .debug, to: PrintHandler())
    #expect(configuration.log?.level == .debug)
  }

  @Test("A handle reports the progress and the time left")
  func progress() async throws {
    let queue = ProcedureQueue("albums")
    let photos = ["cat", "kitten", "paw"].map { Photo(name: $0, size: 4_096) }
    @Sendable func send(_ photo: Photo) async throws {}
    var lines: [String] = []

    let copy = ProcedureTask("copy") { (photos: [Photo]) in
      for (number, photo) in photos.enumerated() {
        ProcedureContext.current?.progress.report(number, of: photos.count)
        try await send(photo)
      }
    }
    let album = ProcedureGraph("album") { (g, photos: Node<[Photo]>) in
      let copied = g.add(copy.progressWeight(9), from: photos)
      return g.add(ProcedureTask("index") {}, after: [copied])
    }
    let handle = queue.add(album, input: photos)
    for await progress in handle.progress {
      lines.append("\(progress)" + (progress.remaining.map { ", \($0) left" } ?? ""))
    }
    #expect(lines.last == "100%, 0.0 seconds left")
  }

  @Test("An event contains the metrics of its run")
  func metrics() async throws {
    let jobs = ProcedureQueue("jobs")
    let events = jobs.events
    try await jobs.run(ProcedureTask("job") {})
    await jobs.shutDown()
    var lines: [String] = []
    let queue = (events: events, 0)
    for await event in queue.events {
      guard event.kind == .didFinish, let metrics = event.metrics else { continue }
      lines.append("\(event.name): waited \(metrics.waiting), executed \(metrics.executing)")
    }
    #expect(lines.count == 1 && lines[0].hasPrefix("job: waited 0.0 seconds"))
  }

  @Test("A snapshot contains the totals of a queue")
  func totals() async throws {
    var configuration = ProcedureQueue.Configuration("jobs", maxConcurrentProcedures: 8)
    configuration.collectsTotals = true
    let queue = ProcedureQueue(configuration)
    try await queue.run(ProcedureTask("job") {})
    let totals = queue.snapshot().totals
    let slowest = totals?.waiting.quantile(0.99)  // at most 1% waited longer
    #expect(totals?.finishedCount == 1 && slowest != nil)
  }
}
