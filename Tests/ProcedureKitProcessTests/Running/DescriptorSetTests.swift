import Foundation
import ProcedureKit
import Testing

@testable import ProcedureKitProcess

/// What holds for the descriptors that are waited for, with `poll` and with `epoll`.
@Suite struct DescriptorSetTests {
  private static var sets: [any DescriptorSet] {
    get throws {
      #if os(Linux)
        [try PollSet(), try EpollSet()]
      #else
        [try PollSet()]
      #endif
    }
  }

  private func write(_ text: String, to pipe: PipeEnds) {
    #expect(Foundation.write(pipe.writing, text, text.utf8.count) == text.utf8.count)
  }

  @Test("A descriptor is told once, with the key of the last call, and then when it is added again")
  func once() throws {
    for set in try Self.sets {
      let (first, second) = (try PipeEnds(), try PipeEnds())
      defer { for pipe in [first, second] { pipe.close() } }
      #expect(set.add(first.reading, key: 1))
      #expect(set.add(second.reading, key: 2))
      #expect(set.add(second.reading, key: 3))
      write("a", to: second)
      #expect(set.next(within: nil) == [3])
      write("b", to: first)
      #expect(set.next(within: nil) == [1], "the second has a byte, and is not in the set any more")
      #expect(set.add(second.reading, key: 4))
      #expect(set.next(within: nil) == [4])
      #expect(set.next(within: .milliseconds(1)) == [])
    }
  }

  @Test("An end without a byte is told, and a descriptor that is added while a thread waits")
  func end() async throws {
    for set in try Self.sets {
      var pipe = try PipeEnds()
      defer { pipe.close() }
      let (keys, key) = AsyncStream<[Int]>.makeStream()
      Thread.detachNewThread { key.yield(set.next(within: nil)) }
      #expect(set.add(pipe.reading, key: 7))
      pipe.closeWriting()
      #expect(await keys.first { _ in true } == [7])
    }
  }

  @Test("Both sets serve the outputs of programs")
  func outputs() async throws {
    for set in try Self.sets {
      let poller = OutputPoller(set)
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
