#pragma once

// Items and keys as requests and answers of the engine have them, for heads.

#include "engine/requests.h"
#include "partition/client_item.h"
#include "partition/partition_key.h"
