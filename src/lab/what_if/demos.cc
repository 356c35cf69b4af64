// Two workloads that show what a partition key does: made up, the same every time.
#include <fmt/format.h>

#include "base/errors.h"
#include "lab/what_if/workload.h"

namespace orrery::lab {
namespace {

using Kind = WorkloadOperation::Kind;

/// A small generator of its own: the demos must not change with the standard library.
class Numbers {
public:
    explicit Numbers(uint64_t seed) : state_(seed) {}
    uint64_t below(uint64_t limit) {
        state_ = state_ * 6364136223846793005ULL + 1442695040888963407ULL;
        return (state_ >> 33) % limit;
    }
    /// Small numbers more often: the smaller of three.
    uint64_t skewed(uint64_t limit) { return std::min({below(limit), below(limit), below(limit)}); }

private:
    uint64_t state_;
};

WorkloadOperation query(std::string text) {
    WorkloadOperation out;
    out.kind = Kind::kQuery;
    out.query = std::move(text);
    return out;
}

/// Cars send what they measure all the time; somebody looks at one car's month. The device is asked
/// for most, new data is always of this month, and a few models sell best.
Workload car_telemetry() {
    constexpr uint64_t kDevices = 400;
    constexpr uint64_t kModels = 12;
    constexpr uint64_t kMonths = 12;
    Numbers numbers(1);
    Workload out;
    out.name = "car-telemetry";
    out.key_paths = {"/deviceId"};
    out.operations_per_second = 3000;
    out.bytes_total = 300.0 * (1ULL << 30);
    out.note = "Made up: 400 cars of 12 models, a year of data, 3,000 requests a second, 300 GB.";
    const auto model_of = [](uint64_t device) {
        Numbers own(device + 77);
        return own.skewed(kModels);
    };
    const auto item = [&](uint64_t device, uint64_t month, uint64_t number) {
        return fmt::format(
            R"({{"id":"{}-{}-{}","deviceId":"car-{:04}","model":"model-{}","month":"2024-{:02}","ts":{},"speed":{},"fuel":{},"location":{{"lat":{},"lon":{}}},"codes":["P{}","P{}"]}})",
            device, month, number, device, model_of(device), month,
            1'704'067'200 + month * 2'600'000 + number * 60, numbers.below(180), numbers.below(60),
            40 + numbers.below(10), 5 + numbers.below(10), numbers.below(900), numbers.below(900));
    };
    for (uint64_t i = 0; i < 4800; ++i)
        out.items.push_back(item(i % kDevices, 1 + (i / kDevices) % kMonths, i));
    out.loaded = out.items.size();
    for (uint64_t i = 0; i < 4000; ++i) {
        const uint64_t device = numbers.below(kDevices);
        const uint64_t what = numbers.below(100);
        if (what < 70) {
            WorkloadOperation create;
            create.kind = Kind::kCreate;
            create.item = out.items.size();
            out.items.push_back(item(device, kMonths, 100'000 + i));
            out.operations.push_back(std::move(create));
        } else if (what < 90) {
            out.operations.push_back(query(fmt::format(
                "SELECT * FROM c WHERE c.deviceId = 'car-{:04}' AND c.month = '2024-{:02}'", device,
                kMonths - numbers.skewed(3))));
        } else if (what < 98) {
            WorkloadOperation read;
            read.item = static_cast<size_t>(numbers.below(4800));
            out.operations.push_back(std::move(read));
        } else {
            out.operations.push_back(query(fmt::format(
                "SELECT VALUE COUNT(1) FROM c WHERE c.model = 'model-{}' AND c.month = '2024-12'",
                numbers.skewed(kModels))));
        }
    }
    return out;
}

/// Two hundred tenants in one container; the first has more than half of everything.
Workload multi_tenant() {
    constexpr uint64_t kTenants = 200;
    Numbers numbers(2);
    Workload out;
    out.name = "multi-tenant";
    out.key_paths = {"/tenantId"};
    out.operations_per_second = 2500;
    out.bytes_total = 60.0 * (1ULL << 30);
    out.note =
        "Made up: 200 tenants, one with 55 % of the items and requests, 2,500 requests a second, "
        "60 GB.";
    const auto tenant = [&]() -> uint64_t {
        return numbers.below(100) < 55 ? 0 : 1 + numbers.below(kTenants - 1);
    };
    const auto users_of = [](uint64_t of) -> uint64_t { return of == 0 ? 500 : 10; };
    std::vector<std::pair<uint64_t, uint64_t>> owners;
    const auto item = [&](uint64_t of, uint64_t user, uint64_t number) {
        return fmt::format(
            R"({{"id":"doc-{}","tenantId":"tenant-{:03}","userId":"user-{:03}-{:03}","type":"order","total":{},"status":"{}","lines":[{{"sku":"s{}","n":{}}},{{"sku":"s{}","n":{}}}],"text":"{}"}})",
            number, of, of, user, numbers.below(100'000), numbers.below(4) == 0 ? "open" : "done",
            numbers.below(500), numbers.below(9), numbers.below(500), numbers.below(9),
            std::string(200, 'x'));
    };
    for (uint64_t i = 0; i < 4000; ++i) {
        const uint64_t of = tenant();
        const uint64_t user = numbers.below(users_of(of));
        owners.emplace_back(of, user);
        out.items.push_back(item(of, user, i));
    }
    out.loaded = out.items.size();
    for (uint64_t i = 0; i < 4000; ++i) {
        const uint64_t what = numbers.below(100);
        const uint64_t of = tenant();
        const uint64_t user = numbers.below(users_of(of));
        if (what < 40) {
            WorkloadOperation read;
            read.item = static_cast<size_t>(numbers.below(4000));
            out.operations.push_back(std::move(read));
        } else if (what < 60) {
            WorkloadOperation create;
            create.kind = Kind::kCreate;
            create.item = out.items.size();
            out.items.push_back(item(of, user, 100'000 + i));
            out.operations.push_back(std::move(create));
        } else if (what < 65) {
            WorkloadOperation replace;
            replace.kind = Kind::kReplace;
            replace.item = static_cast<size_t>(numbers.below(4000));
            out.operations.push_back(std::move(replace));
        } else if (what < 95) {
            out.operations.push_back(
                query(fmt::format("SELECT TOP 20 * FROM c WHERE c.tenantId = 'tenant-{:03}' AND "
                                  "c.userId = 'user-{:03}-{:03}'",
                                  of, of, user)));
        } else {
            out.operations.push_back(
                query(fmt::format("SELECT VALUE COUNT(1) FROM c WHERE c.tenantId = 'tenant-{:03}' "
                                  "AND c.status = 'open'",
                                  of)));
        }
    }
    return out;
}

}  // namespace

const std::vector<Demo>& demos() {
    static const std::vector<Demo> kDemos = {
        {"car-telemetry",
         "Car telemetry",
         "Cars send measurements all the time; the application asks for one car's month. Model, "
         "month, device, or device and month?",
         {{"/model"}, {"/month"}, {"/deviceId"}, {"/deviceId", "/month"}},
         30'000},
        {"multi-tenant",
         "Multi-tenant with a whale",
         "Two hundred tenants share a container, and one has more than half of everything.",
         {{"/tenantId"}, {"/userId"}, {"/tenantId", "/userId"}, {"/id"}},
         20'000},
    };
    return kDemos;
}

Result<Workload> demo_workload(std::string_view name) {
    if (name == "car-telemetry") return car_telemetry();
    if (name == "multi-tenant") return multi_tenant();
    return errors::resource_not_found("There is no demo '" + std::string(name) +
                                      "'; there are 'car-telemetry' and 'multi-tenant'.");
}

}  // namespace orrery::lab
