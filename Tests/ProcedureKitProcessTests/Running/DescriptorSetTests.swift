import Foundation
import ProcedureKit
import Testing

@testable import ProcedureKitProcess

/// Tests sets of awaited descriptors, with `poll` and with `epoll`.
@Suite(.timeLimit(.minutes(10))) struct DescriptorSetTests {
  private static var sets: [any DescriptorSet] {
    get throws {
      #if os(Linux)
        [try PollSet(), try EpollSet()]
      #else
        [try PollSet()]
      #endif
    }
  }

  /// Waits until there are keys. A call of `add` can also end a wait.
  private func next(_ set: any DescriptorSet) -> [Int] {
    while true {
      let keys = set.next(within: nil)
      if !keys.isEmpty { return keys }
    }
  }

  private func write(_ text: String, to pipe: PipeEnds) {
    #expect(Foundation.write(pipe.writing, text, text.utf8.count) == text.utf8.count)
  }

  @Test("A descriptor is reported once, with the key of the last call, and again only after it is added again")
  func once() throws {
    for set in try Self.sets {
      let (first, second) = (try PipeEnds(), try PipeEnds())
      defer { for pipe in [first, second] { pipe.close() } }
      #expect(set.add(first.reading, key: 1))
      #expect(set.add(second.reading, key: 2))
      #expect(set.add(second.reading, key: 3))
      write("a", to: second)
      #expect(next(set) == [3])
      write("b", to: first)
      #expect(next(set) == [1], "the second has a byte, and is no longer in the set")
      #expect(set.add(second.reading, key: 4))
      #expect(next(set) == [4])
      #expect(set.next(within: .milliseconds(1)) == [])
    }
  }

  @Test("An end of file without a byte is reported, and so is a descriptor that is added while a thread is waiting")
  func end() async throws {
    for set in try Self.sets {
      var pipe = try PipeEnds()
      defer { pipe.close() }
      let (keys, key) = AsyncStream<[Int]>.makeStream()
      Thread.detachNewThread { key.yield(next(set)) }
      #expect(set.add(pipe.reading, key: 7))
      pipe.closeWriting()
      #expect(await keys.first { _ in true } == [7])
    }
  }

  @Test("A wake-up ends exactly one wait, the current or the next one")
  func wake() async throws {
    for set in try Self.sets {
      set.wake()
      #expect(set.next(within: nil) == [])
      let (keys, key) = AsyncStream<[Int]>.makeStream()
      Thread.detachNewThread { key.yield(set.next(within: nil)) }
      set.wake()
      #expect(await keys.first { _ in true } == [])
      let pipe = try PipeEnds()
      defer { pipe.close() }
      write("a", to: pipe)
      #expect(set.add(pipe.reading, key: 1))
      // The `add` itself ends a wait with `poll`.
      #expect([set.next(within: nil), set.next(within: .milliseconds(1))].flatMap(\.self) == [1])
    }
  }

  @Test("Both kinds of sets read the outputs of programs")
  func outputs() async throws {
    for set in try Self.sets {
      let poller = try EventLoopExecutor(set).poller
      let pipe = try PipeEnds()
      let output = OutputReader(pipe, poller)
      let (parts, part) = AsyncStream<Data?>.makeStream()
      var next = parts.makeAsyncIterator()
      write("kitten", to: pipe)
      output.readChunk { part.yield($0) }
      #expect(await next.next() == Data("kitten".utf8))
      output.readChunk { part.yield($0) }
      output.programEnded()
      #expect(await next.next() == .some(nil))
      output.readChunk { part.yield($0) }
      #expect(await next.next() == .some(nil), "an output that has ended ends again")
    }
  }
}
