#include "cli/detail/import_pipeline.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace orrery::cli::detail {
namespace {

Record record(uint64_t number) {
    Record out;
    out.text = "item";
    out.line = number;
    out.end_offset = number * 10;
    out.end_line = number + 1;
    return out;
}

TEST(ImportPipelineTest, TheMarkIsBeforeWhatIsNotFinished) {
    ImportPipeline pipeline(4);
    for (uint64_t i = 1; i <= 4; ++i) ASSERT_TRUE(pipeline.push(record(i)));
    std::vector<ImportPipeline::Task> tasks(3);
    for (auto& task : tasks) ASSERT_TRUE(pipeline.pop(task));
    pipeline.finished(tasks[1].number);
    EXPECT_EQ(pipeline.mark().number, 0u);
    EXPECT_EQ(pipeline.mark().handed_out, 3u);
    pipeline.finished(tasks[0].number);
    EXPECT_EQ(pipeline.mark().number, 2u);
    EXPECT_EQ(pipeline.mark().offset, 20u);
    EXPECT_EQ(pipeline.mark().line, 3u);
}

TEST(ImportPipelineTest, GoesOnFromAMark) {
    ImportPipeline pipeline(1);
    ImportPipeline::Mark mark;
    mark.number = 7;
    mark.offset = 70;
    pipeline.start_from(mark);
    ASSERT_TRUE(pipeline.push(record(8)));
    ImportPipeline::Task task;
    ASSERT_TRUE(pipeline.pop(task));
    EXPECT_EQ(task.number, 8u);
    pipeline.finished(8);
    EXPECT_EQ(pipeline.mark().offset, 80u);
}

TEST(ImportPipelineTest, EndsAndStops) {
    ImportPipeline::Task task;
    ImportPipeline ended(1);
    ASSERT_TRUE(ended.push(record(1)));
    ended.end_of_input("the file is cut off");
    EXPECT_TRUE(ended.pop(task)) << "what was handed in is still worked on";
    EXPECT_FALSE(ended.pop(task));
    EXPECT_EQ(ended.error(), "the file is cut off");
    ImportPipeline stopped(1);
    ASSERT_TRUE(stopped.push(record(1)));
    stopped.fail("first");
    stopped.fail("second");
    EXPECT_FALSE(stopped.pop(task));
    EXPECT_FALSE(stopped.push(record(2)));
    EXPECT_EQ(stopped.error(), "first");
}

TEST(ImportPipelineTest, ManyConnections) {
    constexpr uint64_t kItems = 20'000;
    ImportPipeline pipeline(4);
    std::atomic<uint64_t> done{0};
    std::vector<std::thread> workers;
    for (int i = 0; i < 8; ++i)
        workers.emplace_back([&] {
            ImportPipeline::Task task;
            while (pipeline.pop(task)) {
                done += 1;
                pipeline.finished(task.number);
            }
        });
    uint64_t last = 0;
    for (uint64_t i = 1; i <= kItems; ++i) {
        ASSERT_TRUE(pipeline.push(record(i)));
        const auto mark = pipeline.mark();
        EXPECT_GE(mark.number, last);
        EXPECT_LE(mark.number, mark.handed_out);
        last = mark.number;
    }
    pipeline.end_of_input();
    for (auto& worker : workers) worker.join();
    EXPECT_EQ(done, kItems);
    EXPECT_EQ(pipeline.mark().number, kItems);
}

}  // namespace
}  // namespace orrery::cli::detail
