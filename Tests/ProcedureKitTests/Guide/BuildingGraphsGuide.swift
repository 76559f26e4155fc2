import ProcedureKit
import TestSupport
import Testing
import TestingProcedureKit

/// The code of the guide *Graphs*, compiled and run; `ProjectTests` compares the two.
@Suite(.timeLimit(.minutes(10))) struct BuildingGraphsGuide {
  struct Image: Sendable, Equatable {
    var side: Int
  }

  struct LoadImage: Procedure {
    func execute(_ path: String) async throws -> Image { Image(side: path.count * 100) }
  }

  struct ResizeImage: Procedure {
    var side: Int
    func execute(_ image: Image) async throws -> Image { Image(side: min(side, image.side)) }
  }

  struct Download: Procedure {
    func execute(_ path: String) async throws -> String {
      if path.isEmpty { throw NotFound() }
      return "<\(path)>"
    }
  }

  struct NotFound: Error {}

  actor Disk {
    private(set) var folderCount = 0
    func makeFolder() throws { folderCount += 1 }
  }

  private var thumbnails: ProcedureGraph<String, [Image]> {
    let thumbnails = ProcedureGraph("thumbnails") { (g, path: Node<String>) in
      let photo = g.add(LoadImage(), from: path)
      let small = g.add(ResizeImage(side: 64), from: photo)
      let large = g.add(ResizeImage(side: 512), from: photo)
      return g.add("pack", from: small, large) { small, large in [small, large] }
    }
    return thumbnails
  }

  @Test("A graph is built once, and run in several ways")
  func building() async throws {
    let queue = ProcedureQueue("images", maxConcurrentProcedures: 2)
    let thumbnails = thumbnails
    let images = try await queue.run(thumbnails, input: "kitten.ppm")  // is cancelled with this task
    let handle = queue.add(thumbnails, input: "cat.ppm")  // outlives this task
    let others = try await handle.value
    #expect(images.map(\.side) == [64, 512] && others.map(\.side) == [64, 512])
  }

  @Test("The durations of nodes can be estimated, and taken from an earlier run")
  func durations() async throws {
    let queue = ProcedureQueue("downloads", maxConcurrentProcedures: 2)
    let magazine = ProcedureGraph("magazine") { g in
      let letters = g.add(Download().named("letters"), input: "letters")
      let cover = g.add(Download().named("cover").expected(duration: .seconds(40)), input: "cover")
      return g.add("bind", from: letters, cover) { letters, cover in letters + cover }
    }
    let durations = ["letters": Duration.seconds(3), "cover": .seconds(25)]  // measured earlier
    let issue = try await queue.run(magazine.expected(durations: durations))
    #expect(issue == "<letters><cover>")
  }

  @Test("Results can be streamed, and failures can be values")
  func streams() async throws {
    let queue = ProcedureQueue("downloads", maxConcurrentProcedures: 4)
    var messages: [String] = []
    let paths = ["a", "", "b"]
    let pages = try await queue.map(paths, with: Download().catchingErrors())
    for case .failure(let error) in pages { messages.append("\(error)") }
    #expect(pages.count == 3 && messages == ["NotFound()"])

    let (requests, source) = AsyncStream.makeStream(of: String.self)
    for number in 0..<100 { source.yield("\(number)") }
    source.finish()
    var total = 0
    for try await page in queue.results(of: Download(), over: requests, maxConcurrentElements: 8) {
      total += page.count
    }
    #expect(total == 390)
  }

  @Test("Nodes pass values to each other")
  func values() async throws {
    let disk = Disk()
    let report = ProcedureGraph("report") { (g, month: Node<Int>) in
      let title = g.add("title", from: month) { month in "Month \(month)" }
      let body = g.add(Download(), input: "body")  // the same in every run
      let folder = g.add("folder") { try await disk.makeFolder() }
      let text = g.add("text", from: title, body) { title, body in "\(title): \(body)" }
      return g.add("save", from: text, after: [folder]) { text in "saved \(text)" }
    }
    #expect(try await report.execute(7) == "saved Month 7: <body>")
    #expect(await disk.folderCount == 1)
  }

  @Test("A graph fans out and in")
  func fan() async throws {
    let paths = ["a", "b", "c"]
    let book = ProcedureGraph("book") { g in
      let chapters = paths.map { path in g.add(Download().named(path), input: path) }
      return g.add("bind", from: chapters) { chapters in chapters.joined() }
    }
    #expect(try await book.execute() == "<a><b><c>")
  }

  @Test("A graph maps, filters and reduces collections")
  func collections() async throws {
    let site = ProcedureGraph("site") { (g, index: Node<String>) in
      let paths = g.add("paths", from: index) { index in index.split(separator: " ").map(String.init) }
      let wanted = g.filter("wanted", paths) { path in !path.hasPrefix("#") }
      // `with` takes a procedure or a function. At most four elements are processed at a time.
      let pages = g.compactMap(wanted, with: Download().replacingErrorsWithNil(), maxConcurrentElements: 4)
      let lengths = g.map("lengths", pages) { page in page.count }
      return g.reduce(lengths, 0) { sum, length in sum + length }
    }
    #expect(try await site.execute("a #b ccc") == 8)
  }

  @Test("A node can accept a failure, and a graph can collect all failures")
  func failures() async throws {
    let queue = ProcedureQueue("q", clock: VirtualClock())
    let archive = ProcedureTask("archive") { (path: String) in "old \(path)" }
    let news = ProcedureGraph("news") { (g, path: Node<String>) in
      let fresh = g.add(Download().timeout(.seconds(5)).retry(.constant(.zero), maxAttempts: 2), from: path)
      let old = g.add(archive, from: path)
      return g.add("choose", from: fresh.catchingErrors(), old) { fresh, old in
        switch fresh {
        case .success(let page): page
        case .failure: old
        }
      }
    }
    #expect(try await queue.run(news, input: "a") == "<a>")
    #expect(try await queue.run(news, input: "") == "old ")

    let both = ProcedureGraph("both", returning: Void.self) { g in
      g.add(Download().named("first"), input: "")
      g.add(Download().named("second"), input: "")
    }
    var messages: [String] = []
    do {
      try await queue.run(both.onFailure(.collect))
    } catch let error as ProcedureError where error.kind == .childrenFailed {
      for failure in error.failures { messages.append("\(failure.procedure.name): \(failure.error)") }
    }
    #expect(Set(messages) == ["first: NotFound()", "second: NotFound()"])
  }

  @Test("The first event with the error of a failed graph names the node that failed")
  func culprit() async throws {
    let queue = ProcedureQueue("q")
    let graph = ProcedureGraph("pages", returning: Void.self) { g in
      let first = g.add(Download().named("first"), input: "a")
      g.add(Download().named("broken"), input: "", after: first)
    }
    let events = queue.events
    await #expect(throws: NotFound.self) { try await queue.run(graph) }
    await queue.shutDown()
    let failed = await events.first { event in
      guard case .didFinish(.failed(let error)) = event.step else { return false }
      return error is NotFound
    }
    #expect(failed?.name == "broken")
  }

  @Test("Cancelling a graph cancels its nodes")
  func cancelling() async throws {
    let queue = ProcedureQueue("images", isSuspended: true, clock: VirtualClock())
    let thumbnails = thumbnails
    let handle = queue.add(thumbnails, input: "kitten.ppm")
    handle.cancel()  // cancels the executing nodes, and starts no others
    let impatient = thumbnails.maxConcurrentNodes(2).onFailure(.collect).timeout(.seconds(10))
    #expect(await handle.outcome.isCancelled)
    queue.resume()
    #expect(try await queue.run(impatient, input: "kitten.ppm").count == 2)
  }

  @Test("The events of a queue name the nodes of a graph")
  func watching() async throws {
    let queue = ProcedureQueue("images")
    let thumbnails = thumbnails
    var names: [String] = []
    let events = queue.events  // before the graph is added
    queue.add(thumbnails, input: "kitten.ppm")
    await queue.shutDown()  // ends the event stream
    for await event in events {
      if event.kind == .didFinish, case .finished? = event.outcome { names.append(event.name) }
    }
    #expect(names.sorted() == ["LoadImage", "ResizeImage", "ResizeImage", "pack", "thumbnails"])
  }

  @Test("The diagram of a graph is the one in the guide")
  func diagram() {
    #expect(
      thumbnails.mermaid == """
        flowchart TD
          input(["String"])
          n0["LoadImage"]
          n1["ResizeImage"]
          n2["ResizeImage"]
          n3["pack"]
          output(["Array#lt;Image#gt;"])
          input --> n0
          n0 --> n1
          n0 --> n2
          n1 --> n3
          n2 --> n3
          n3 --> output
        """)
  }

  @Test("A graph can be used several times, and within another graph")
  func reuse() async throws {
    let thumbnails = thumbnails
    let album = ProcedureGraph("album") { g in
      let cats = g.add(thumbnails.named("cats"), input: "cat.ppm")
      let kittens = g.add(thumbnails.named("kittens"), input: "kitten.ppm")
      return g.add("join", from: cats, kittens) { cats, kittens in cats + kittens }
    }
    async let one = album()
    async let other = album()  // at the same time
    let both = try await [one, other]
    #expect(both[0].count == 4 && both[0] == both[1])
  }
}
